#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: build.sh FOLDER
#
# Builds FOLDER/helm_render from Debian's Go packages, without a network. The compiler's cache
# lies in FOLDER too.
set -euo pipefail

folder=$(mkdir -p -- "$1" && cd -- "$1" && pwd -P)
command -v go >/dev/null || {
  printf '%s\n' 'helm_render needs Go: install the packages of section deploy in packages.txt' >&2
  exit 1
}
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
export GOPATH=/usr/share/gocode GO111MODULE=off GOFLAGS='' GOENV=off
export GOCACHE=$folder/go-cache
exec go build -o "$folder/helm_render" .
