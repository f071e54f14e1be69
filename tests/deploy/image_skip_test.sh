#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# docker/test-image.sh where there is no engine and none can be had: it proves nothing, says so, and is
# no success. Wrong usage is refused.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT

fail() {
  cat -- "$dir/out" >&2
  printf 'image_skip_test: %s\n' "$*" >&2
  exit 1
}

# Where another user can read it, and has a place for temporary files.
tree=$dir/tree
mkdir -p "$tree/docker" "$tree/tests/install" "$dir/tmp"
cp -- "$root"/docker/*.sh "$tree/docker/"
cp -- "$root/tests/install/minimal_debian.sh" "$tree/tests/install/"
chmod -R a+rX "$dir"
chmod a+rwx "$dir/tmp"
ordinary=()
((EUID != 0)) || ordinary=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# ended CODE [argument...]
ended() {
  local code=0
  TMPDIR=$dir/tmp DOCKER_HOST=unix://$dir/no-engine "${ordinary[@]}" bash "$tree/docker/test-image.sh" "${@:2}" >"$dir/out" 2>&1 || code=$?
  ((code == $1)) || fail "it ended with $code instead of $1"
  [[ -z $(ls -A "$dir/tmp") ]] || fail "it has left something in its temporary folder"
}

ended 77
grep -qF 'SKIPPED: no engine is running, and an own one needs root. Nothing was proved.' "$dir/out" || fail "it does not say that it was skipped"
! grep -q 'proved:' "$dir/out" || fail "it says that something was proved"

ended 2 --quick
grep -q '^usage: test-image.sh' "$dir/out" || fail "it does not show its usage"
