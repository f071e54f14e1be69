#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# The names of all checks, one a line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/checks"
printf '%s\n' *.sh | sed 's/\.sh$//'
