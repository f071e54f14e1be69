#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# headers: every public header compiles by itself, without a warning, with both compilers.
# Libraries that the machine installs for all to see are seen here too, whether a header's
# own library hands them to its users or not: the check `includes` says which may be named,
# and the test Install.package builds as a user does.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need headers g++ clang++ cmake ninja

failed=0
for compiler in g++ clang++; do
  build=build/headers/$compiler
  if ! quietly cmake --preset headers -B "$build" -D "CMAKE_CXX_COMPILER=$compiler" ||
    ! quietly ninja -C "$build" -j "$jobs" -k 0 all_verify_interface_header_sets; then
    echo "headers: $compiler has findings"
    failed=1
  fi
done
((failed == 0)) || exit 1
mapfile -t objects < <(ninja -C "$build" -t targets all |
  grep '_verify_interface_header_sets\.dir/.*\.o:')
((${#objects[@]} > 0)) || {
  echo "headers: no library names its public headers (target_sources, FILE_SET HEADERS)"
  exit 1
}
echo "headers: ${#objects[@]} public headers compile alone with g++ and clang++"
