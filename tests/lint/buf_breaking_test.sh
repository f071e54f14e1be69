#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# buf_breaking_test.sh BUF: the comparison with the last release finds a break and lets an
# addition pass, by the rules of buf.yaml, and takes the right tag for the last release.
set -euo pipefail
buf=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A hook's environment must not point git at another checkout.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

die() {
  printf 'buf_breaking_test: %s\n' "$@"
  exit 1
}

checkout=$work/checkout
proto=$checkout/proto/lossscaler/v1/message.proto
record=$checkout/server/store/record.proto
mkdir -p "${proto%/*}" "${record%/*}"

write() {
  printf '%s\n' 'syntax = "proto3";' 'package lossscaler.v1;' 'message Message {' "$@" '}' >"$proto"
}

write_record() {
  printf '%s\n' 'syntax = "proto3";' 'package lossscaler.store;' \
    'import "lossscaler/v1/message.proto";' 'message Record {' "$@" '}' >"$record"
}

in_git() {
  git -C "$checkout" -c user.name=Test -c user.email=test@localhost -c commit.gpgsign=false \
    -c tag.gpgsign=false "$@" >"$work/git" 2>&1 || die "git $1 failed" "$(cat "$work/git")"
}

# commit [VERSION...]: everything, with a CHANGELOG.md that names these releases.
commit() {
  printf '## [%s]\n' Unreleased "$@" >"$checkout/CHANGELOG.md"
  in_git add .
  in_git commit --quiet --allow-empty -m commit
}

# expect passes|fails WORDS WHAT [CHECKOUT]: of a comparison, and that it says WORDS.
expect() {
  local result=passes
  bash "$here/buf_breaking.sh" "$buf" "${4:-$checkout}" >"$work/said" 2>&1 || result=fails
  [[ $result == "$1" ]] || die "with $3 it $result" "$(cat "$work/said")"
  grep -qF -e "$2" "$work/said" || die "with $3 it does not say '$2'" "$(cat "$work/said")"
}

write 'int64 step = 1;' 'string name = 2;'
write_record 'lossscaler.v1.Message message = 1;' 'int64 step = 2;'
in_git init --quiet
commit
expect passes 'no release before this commit' 'no release'
in_git tag v0.1.0-rc.1
in_git tag v0
commit
expect passes 'no release before this commit' 'a pre-release and another tag'
commit 0.1.0
expect passes 'no release before this commit' 'a first release that has no tag yet'
in_git tag v0.1.0
expect passes 'no release before this commit' 'a first release'
commit 0.1.0
expect passes 'compatible with v0.1.0' 'nothing changed'

write 'int64 step = 1;' 'string name = 2;' 'bool added = 3;'
expect passes 'compatible with v0.1.0' 'a field added'
write 'int64 step = 1;'
expect fails 'Previously present field "2" with name "name"' 'a field removed'
write 'int64 step = 1;' 'bytes name = 2;'
expect fails 'changed type from "string" to "bytes"' 'a type changed'
write 'int64 step = 1;' 'string title = 2;'
expect fails 'changed name from "name" to "title"' 'a field renamed'
write 'int64 step = 2;' 'string name = 1;'
expect fails 'break what v0.1.0 published' 'two numbers exchanged'

write 'int64 step = 1;' 'string name = 2;'
write_record 'lossscaler.v1.Message message = 1;' 'int64 number = 2;'
expect passes 'compatible with v0.1.0' 'a field of a record renamed'
write_record 'lossscaler.v1.Message message = 1;' 'string step = 2;'
expect fails 'changed type from "int64" to "string"' 'a type in a record changed'
write_record 'lossscaler.v1.Message message = 1;' 'int64 step = 2;'

# 0.2.0 breaks what 0.1.0 published: its own tag must not hide that.
write 'int64 step = 1;'
commit 0.2.0 0.1.0
in_git tag v0.2.0
expect fails 'break what v0.1.0 published' 'a release that breaks the one before'
write 'string step = 1;'
expect fails 'break what v0.2.0 published' 'an edit on top of a release'
write 'int64 step = 1;'
commit 0.2.0 0.1.0
expect passes 'compatible with v0.2.0' 'a break that was released'
in_git tag v0.3.0-rc.1
commit 0.2.0 0.1.0
expect passes 'compatible with v0.2.0' 'a pre-release after a release'

in_git checkout --quiet v0.1.0
commit 0.1.0
expect passes 'compatible with v0.1.0' 'a later release on another branch'

in_git checkout --quiet v0.3.0-rc.1
commit 0.2.0 0.1.0
in_git branch latest
git clone --quiet --depth 1 --no-tags --branch latest "file://$checkout" "$work/shallow" 2>/dev/null
expect fails 'git fetch --tags' 'a shallow clone without tags' "$work/shallow"
git -C "$work/shallow" fetch --quiet --tags --unshallow
expect passes 'compatible with v0.2.0' 'the tags of a clone fetched' "$work/shallow"
git clone --quiet --no-tags --branch latest "file://$checkout" "$work/untagged" 2>/dev/null
expect fails 'names the release v0.2.0, but the tag' 'a clone without tags' "$work/untagged"
in_git rm --quiet CHANGELOG.md
in_git commit --quiet -m 'no changelog'
in_git branch -f latest
git clone --quiet --depth 1 --no-tags --branch latest "file://$checkout" "$work/unknown" 2>/dev/null
expect fails 'git fetch --tags' 'a shallow clone that shows no release' "$work/unknown"
