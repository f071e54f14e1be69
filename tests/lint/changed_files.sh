#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# The files of the checkout around the current folder that a change consists of, one a
# line: what differs from LOSSSCALER_LINT_BASE, or from where the branch left origin's
# default branch, or, with nothing ahead of that, from the commit before; with what is not
# committed yet. Of a first commit, every file. A shallow clone without the commit before
# cannot tell what its commit changed: only what is not committed counts, and it says so.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"

base() {
  if [[ -n ${LOSSSCALER_LINT_BASE:-} ]]; then
    git rev-parse --verify --quiet "$LOSSSCALER_LINT_BASE^{commit}" || {
      echo "LOSSSCALER_LINT_BASE names no commit of this checkout: $LOSSSCALER_LINT_BASE" >&2
      exit 1
    }
    return
  fi
  local upstream left head
  head=$(git rev-parse --verify --quiet HEAD) || return 0
  for upstream in origin/HEAD origin/main origin/master; do
    left=$(git merge-base "$upstream" HEAD 2>/dev/null) || continue
    if [[ $left != "$head" ]]; then
      printf '%s\n' "$left"
      return
    fi
    break
  done
  git rev-parse --verify --quiet HEAD^ || {
    [[ $(git rev-parse --is-shallow-repository) == false ]] || {
      echo "changed files: this shallow clone lacks the commit before, so that only what is not" \
        "committed counts as changed; fetch at least two commits, or check all" >&2
      printf '%s\n' "$head"
    }
  }
}

from=$(base)
if [[ -n $from ]]; then
  git diff --name-only "$from" --
  git ls-files --others --exclude-standard
else
  git ls-files --cached --others --exclude-standard
fi | sort -u | while read -r file; do
  [[ ! -f $file ]] || printf '%s\n' "$file"
done
