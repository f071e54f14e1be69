#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# format: every C++ file is as clang-format leaves it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need format clang-format

mapfile -t sources < <(files '*.h' '*.cc')
if ! printf '%s\0' "${sources[@]}" | xargs -0 -n 16 -P "$jobs" clang-format --dry-run -Werror; then
  echo "format: run clang-format -i on the files named above"
  exit 1
fi
echo "format: ${#sources[@]} files are formatted"
