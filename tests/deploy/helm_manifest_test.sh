#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: helm_manifest_test.sh FOLDER
#
# The manifest for clusters without Helm is what the chart renders. FOLDER has the renderer.
set -euo pipefail

kubernetes=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../docker/kubernetes" && pwd -P)
rendered=$(bash "$kubernetes/render.sh" "$1")
diff -u --label docker/kubernetes/lossscaler.yaml --label 'what the chart renders' \
  "$kubernetes/lossscaler.yaml" - <<<"$rendered" || {
  printf '%s\n' 'helm_manifest_test: make the manifest again; docker/kubernetes/render.sh says how' >&2
  exit 1
}
