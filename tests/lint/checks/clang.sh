#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# clang: clang++ compiles everything without a warning, thread annotations included.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need clang clang++ cmake ninja

configure_clang || {
  echo "clang: configuring the preset clang failed"
  exit 1
}
# Each by itself, whatever LOSSSCALER_UNITY says; g++ links and runs the same programs in
# every other preset.
mapfile -t objects < <(ninja -C build/clang -t targets all |
  sed -n 's/^\(.*\.cc\.o\): .*/\1/p' | grep -v '\.pb\.cc\.o$')
quietly cmake --build --preset clang --parallel "$jobs" --target "${objects[@]}" -- -k 0 || {
  echo "clang: clang++ has findings"
  exit 1
}
echo "clang: ${#objects[@]} files compile without a warning"
