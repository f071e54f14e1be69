#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# What changed_files.sh takes for a change, in made-up checkouts.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A hook's environment must not point git at another checkout, nor a caller's choose the base.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE LOSSSCALER_LINT_BASE

die() {
  printf 'changed_files_test: %s\n' "$@" >&2
  exit 1
}

in_git() {
  git -c user.name=Test -c user.email=test@localhost -c commit.gpgsign=false "$@" >"$work/git" 2>&1 ||
    die "git $1 failed" "$(cat "$work/git")"
}

# commit FILE: one that adds it.
commit() {
  printf '%s\n' "$1" >"$1"
  in_git add .
  in_git commit --quiet -m "$1"
}

# expect WHAT FILE...: exactly these, now and here.
expect() {
  local what=$1 found
  shift
  found=$(bash "$here/changed_files.sh" 2>"$work/said" | paste -s -d ' ') || die "$what: failed" "$(cat "$work/said")"
  [[ $found == "$*" ]] || die "$what: expected '$*', found '$found'"
}

mkdir "$work/origin"
cd "$work/origin"
in_git init --quiet --initial-branch=main
commit one
expect 'a first commit' one
commit two
commit three
expect 'a checkout without origin' three
grep -q 'no branch of origin' "$work/said" || die 'a checkout without origin: it does not say that it guesses'

in_git clone --quiet "$work/origin" "$work/clone"
cd "$work/clone"
expect 'nothing ahead of the default branch: its last commit' three
commit four
commit five
expect 'two commits ahead of the default branch' five four
in_git checkout --quiet -b topic
commit six
expect 'a branch ahead of it' five four six

printf 'edited\n' >one
printf 'new\n' >seven
printf 'build/\n' >.gitignore
mkdir build
printf 'ignored\n' >build/eight
expect 'edited, untracked and ignored files' .gitignore five four one seven six
rm five
expect 'a deleted file' .gitignore four one seven six
LOSSSCALER_LINT_BASE=HEAD expect 'a base by hand' .gitignore one seven

if LOSSSCALER_LINT_BASE=nothing bash "$here/changed_files.sh" >"$work/found" 2>"$work/said"; then
  die 'a base that does not exist passes'
fi
grep -q 'LOSSSCALER_LINT_BASE names no commit' "$work/said" || die 'a base that does not exist: unclear' "$(cat "$work/said")"

# A default branch of another name, in a clone that does not know it, as some CI makes it.
cd "$work/origin"
in_git branch -m main trunk
in_git clone --quiet "$work/origin" "$work/trunk"
cd "$work/trunk"
in_git remote set-head origin --delete
expect 'a default branch of another name with nothing ahead: its last commit' three
commit four
expect 'a branch ahead of its upstream' four
in_git checkout --quiet -b topic origin/trunk
commit five
commit six
expect 'a topic whose upstream is the default branch' five six
in_git branch --unset-upstream
in_git push --quiet origin HEAD^^:refs/heads/a-old HEAD^^^:refs/heads/z-old
expect 'a topic without upstream' five six
grep -q 'origin/a-old, 2 commits back, stands for it' "$work/said" || die 'a topic without upstream: it does not say what it guesses'
in_git push --quiet -u origin topic
expect 'a topic that has been pushed' five six

in_git clone --quiet --depth 1 "file://$work/origin" "$work/shallow"
cd "$work/shallow"
printf 'edited\n' >one
expect 'a shallow clone' one
grep -q '^notice: .* only what is not committed counts' "$work/said" || die 'a shallow clone: it does not say what it leaves out'
