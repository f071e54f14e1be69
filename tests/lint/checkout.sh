#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# For checks to source: the checkout's files and tools. Goes to the checkout's root.
cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
[[ $(git rev-parse --is-inside-work-tree 2>&1) == true ]] || {
  echo "lint needs a git checkout, and git does not take $PWD for one:"
  git rev-parse --is-inside-work-tree 2>&1 || true
  exit 1
}

# need CHECK TOOL...: ends the check unless all are there.
need() {
  local check=$1 tool
  shift
  for tool in "$@"; do
    command -v "$tool" >/dev/null || {
      echo "$check: $tool is not installed; packages.txt, section lint, says what is needed"
      exit 1
    }
  done
}

# files PATTERN...: what git tracks or would add, and is there.
files() {
  local file
  git ls-files -co --exclude-standard -- "$@" | while read -r file; do
    [[ ! -f $file ]] || printf '%s\n' "$file"
  done
}

# How much to do at once.
# shellcheck disable=SC2034 # The checks use it.
jobs=${LOSSSCALER_JOBS:-$(nproc)}

# quietly COMMAND...: shows what it prints only if it fails.
quietly() {
  local said
  said=$("$@" 2>&1) || {
    printf '%s\n' "$said"
    return 1
  }
}
