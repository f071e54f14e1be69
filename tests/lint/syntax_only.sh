#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# syntax_only.sh COMPILER ARGUMENT...
#
# The compiler launcher of the preset clang: checks a source without making code of it, which
# is nearly half of the time, and leaves an empty object, so that ninja knows what has been
# checked. What is no object (a precompiled header) is made, by ccache. Programs that others
# wait for are not linked either: see the preset.
set -euo pipefail

object=
arguments=("$@")
for ((i = 1; i < $#; ++i)); do
  [[ ${arguments[i - 1]} != -o ]] || object=${arguments[i]}
done
[[ $object == *.o ]] || exec ccache "$@"
"$@" -fsyntax-only
: >"$object"
