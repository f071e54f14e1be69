#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# includes: rooms include only what the design lets them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need includes python3

python3 tests/lint/include_arrows.py .
