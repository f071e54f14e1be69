#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# buf_breaking_test.sh BUF: the comparison with the last release finds a break and lets an
# addition pass, by the rules of proto/buf.yaml.
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
mkdir -p "${proto%/*}"
cp "$here/../../proto/buf.yaml" "$checkout/proto/"

write() {
  printf '%s\n' 'syntax = "proto3";' 'package lossscaler.v1;' 'message Message {' "$@" '}' >"$proto"
}

in_git() {
  git -C "$checkout" -c user.name=Test -c user.email=test@localhost -c commit.gpgsign=false \
    -c tag.gpgsign=false "$@" >"$work/git" 2>&1 || die "git $1 failed" "$(cat "$work/git")"
}

# expect passes|fails WORDS WHAT: of a comparison, and that it says WORDS.
expect() {
  local result=passes
  bash "$here/buf_breaking.sh" "$buf" "$checkout" >"$work/said" 2>&1 || result=fails
  [[ $result == "$1" ]] || die "with $3 it $result" "$(cat "$work/said")"
  grep -qF -e "$2" "$work/said" || die "with $3 it does not say '$2'" "$(cat "$work/said")"
}

write 'int64 step = 1;' 'string name = 2;'
in_git init --quiet
in_git add .
in_git commit --quiet -m release
expect passes 'no tag v*' 'no release'
in_git tag v0.1.0
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
