#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: kernel_symbols_test.sh NM OBJDUMP OBJECT...
#
# Of the object files of core: no file compiled for wider processors leaves anything to the
# linker but its kernel, so that no inline function of it can take the place of another
# file's; and no other file has instructions of such a processor.
set -euo pipefail

nm=$1
objdump=$2
shift 2

fail() {
  printf 'kernel_symbols_test: %s\n' "$@" >&2
  exit 1
}

# leaves_only FUNCTION OBJECT
leaves_only() {
  local symbols
  symbols=$("$nm" -C --defined-only --extern-only -- "$2" | sed -n 's/^[0-9a-f]* //p')
  # A letter for the kind of symbol: T is code that one file alone has, W may be replaced.
  [[ $symbols == "T lossscaler::$1(lossscaler::KernelCall const&)" ]] ||
    fail "$2 should define $1 for others and nothing else, but it defines:" "$symbols"
}

wide() { "$objdump" -d --no-show-raw-insn -- "$1" | grep -c '%[yz]mm' || true; }

avx2=
portable=
for object; do
  case $object in
    */unscale_avx2.cc.o) avx2=$object ;;
    */unscale_portable.cc.o) portable=$object ;;
  esac
done
[[ -n $avx2 && -n $portable ]] || fail "the kernels are not among the object files: $*"

leaves_only UnscaleAvx2 "$avx2"
leaves_only UnscalePortable "$portable"
(($(wide "$avx2") > 0)) || fail "$avx2 has no wide instruction: this test would see none either"
for object; do
  [[ $object == "$avx2" ]] && continue
  (($(wide "$object") == 0)) || fail "$object has instructions of AVX, which not every x86-64 has"
done
echo "$# object files of core: one has wide instructions, and it leaves one symbol"
