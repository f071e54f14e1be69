#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# tidy: clang-tidy over changed files, or over everything (--all). tidy_sources.py says
# which source stands for a changed header.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need tidy clang-tidy clang++ cmake ninja python3

quietly cmake --preset clang || {
  echo "tidy: configuring the preset clang failed"
  exit 1
}
# What sources include and the compiler has not seen yet: generated headers, precompiled ones.
mapfile -t generated < <(ninja -C build/clang -t targets all |
  sed -n 's/^\(.*\.\(pb\.h\|pch\)\): .*/\1/p')
quietly cmake --build --preset clang --parallel "$jobs" --target "${generated[@]}" || {
  echo "tidy: generating headers failed"
  exit 1
}

if [[ -n ${LOSSSCALER_LINT_ALL:-} ]]; then
  what=all
  found=$(python3 tests/lint/tidy_sources.py build/clang/compile_commands.json)
else
  what=changed
  changed=$(bash tests/lint/changed_files.sh)
  found=$(python3 tests/lint/tidy_sources.py build/clang/compile_commands.json --changed <<<"$changed")
fi
if [[ -z $found ]]; then
  echo "tidy: no C++ file has changed"
  exit 0
fi
mapfile -t sources <<<"$found"

one() {
  local said
  said=$(clang-tidy --quiet -p build/clang "$1" 2>&1) || {
    printf '%s\n' "$said" | grep -v ' warnings\? generated\.$'
    return 1
  }
}
export -f one
# shellcheck disable=SC2016 # The inner shell's own argument.
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$jobs" bash -c 'one "$1"' one || {
  echo "tidy: clang-tidy has findings"
  exit 1
}
echo "tidy: $what files, ${#sources[@]} sources, are fine"
