#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: render.sh [FOLDER]
#
# Prints lossscaler.yaml: the chart with the values beside this file. Needs Go (packages.txt,
# section deploy). FOLDER keeps the renderer for the next time. After a change of the chart:
#
#   bash docker/kubernetes/render.sh >new.yaml && mv new.yaml docker/kubernetes/lossscaler.yaml
set -euo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
if (($# > 0)); then
  folder=$1
else
  folder=$(mktemp -d)
  trap 'rm -rf -- "$folder"' EXIT
fi
bash "$top/tests/deploy/helm_render/build.sh" "$folder"

cat <<'TEXT'
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# The loss scaler for a cluster without Helm: TLS, tokens, a volume, a network policy. Made by
# `bash docker/kubernetes/render.sh` from docker/helm/lossscaler and values.yaml beside it;
# change these, not this file: a test compares them. docker/README.md says how to make the
# secrets lossscaler-tls and lossscaler-tokens, which must be there first. Then:
#
#   kubectl -n NAMESPACE apply -f docker/kubernetes/lossscaler.yaml
TEXT
"$folder/helm_render" -release lossscaler -service manifest -no-hooks -f "$top/docker/kubernetes/values.yaml" \
  "$top/docker/helm/lossscaler"
