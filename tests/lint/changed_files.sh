#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# The files of the checkout around the current folder that a change consists of, one a
# line: what differs from LOSSSCALER_LINT_BASE, or from where the branch left origin's
# default branch, or, with nothing ahead of that, from the commit before; with what is not
# committed yet. Where the default branch is not known by origin/HEAD or its usual names,
# the branch's upstream stands for it, else the branch of origin that is the fewest commits
# back. Of a first commit, every file. A shallow clone without the commit before cannot tell
# what its commit changed: only what is not committed counts. Every guess is told on stderr,
# as a line that begins with "notice: ".
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"

notice() { echo "notice: changed files: $*" >&2; }

# left_at HEAD: where HEAD's branch left the one that it will go back to; nothing if that is
# not known.
left_at() {
  local head=$1 branch own left ahead nearest='' fewest=
  for branch in origin/HEAD origin/main origin/master; do
    git merge-base "$branch" "$head" 2>/dev/null && return
  done
  own=origin/$(git symbolic-ref --quiet --short HEAD) || own=
  branch=$(git rev-parse --abbrev-ref --verify --quiet '@{upstream}' 2>/dev/null) || branch=
  # What has been pushed of this very branch is part of the change, so it comes last.
  if [[ -n $branch && $branch != "$own" ]] && git merge-base "$branch" "$head" 2>/dev/null; then
    return
  fi
  while read -r branch; do
    left=$(git merge-base "$branch" "$head" 2>/dev/null) || continue
    ahead=$(git rev-list --count "$left..$head")
    if [[ -z $nearest || $nearest == "$own" ]] || [[ $branch != "$own" && $ahead -lt $fewest ]]; then
      fewest=$ahead nearest=$branch
    fi
  done < <(git for-each-ref --format='%(refname:short)' refs/remotes/origin)
  if [[ -n $nearest ]]; then
    notice "origin's default branch is not known here; $nearest, $fewest commits back, stands for it" \
      "(LOSSSCALER_LINT_BASE names another base)"
    git merge-base "$nearest" "$head"
  else
    notice "no branch of origin to compare with is here; the last commit counts as the change" \
      "(LOSSSCALER_LINT_BASE names another base)"
  fi
}

base() {
  if [[ -n ${LOSSSCALER_LINT_BASE:-} ]]; then
    git rev-parse --verify --quiet "$LOSSSCALER_LINT_BASE^{commit}" || {
      echo "LOSSSCALER_LINT_BASE names no commit of this checkout: $LOSSSCALER_LINT_BASE" >&2
      exit 1
    }
    return
  fi
  local head left
  head=$(git rev-parse --verify --quiet HEAD) || return 0
  left=$(left_at "$head")
  if [[ -n $left && $left != "$head" ]]; then
    printf '%s\n' "$left"
    return
  fi
  git rev-parse --verify --quiet HEAD^ || {
    [[ $(git rev-parse --is-shallow-repository) == false ]] || {
      notice "this shallow clone lacks the commit before, so that only what is not committed" \
        "counts as changed; fetch at least two commits, or check all"
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
