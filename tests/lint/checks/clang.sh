#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# clang: clang++ compiles everything without a warning, thread annotations included.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need clang clang++ cmake ninja

# Each file by itself, or with LOSSSCALER_UNITY a dozen at a time, in a folder of their own:
# clang-tidy wants them one by one.
folder=build/clang
unity=OFF
if [[ ${LOSSSCALER_UNITY:-} == ON ]]; then
  folder=build/clang-unity
  unity=ON
fi
quietly cmake --preset clang -B "$folder" -DCMAKE_UNITY_BUILD="$unity" || {
  echo "clang: configuring the preset clang failed"
  exit 1
}
# g++ links and runs the same programs in every other preset.
mapfile -t objects < <(ninja -C "$folder" -t targets all |
  sed -n 's/^\(.*\.\(cc\|cxx\)\.o\): .*/\1/p' | grep -v '\.pb\.cc\.o$')
quietly cmake --build "$folder" --parallel "$jobs" --target "${objects[@]}" -- -k 0 || {
  echo "clang: clang++ has findings"
  exit 1
}
echo "clang: everything compiles without a warning, in ${#objects[@]} pieces"
