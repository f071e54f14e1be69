#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# shell: shellcheck has nothing to say.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need shell shellcheck

mapfile -t scripts < <(files run .ci/run '*.sh')
# SC2317 takes a function that only a trap calls for unreachable.
shellcheck -x -P SCRIPTDIR --exclude=SC2317 -- "${scripts[@]}" || {
  echo "shell: shellcheck has findings"
  exit 1
}
echo "shell: ${#scripts[@]} scripts are fine"
