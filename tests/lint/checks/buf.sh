#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# buf: the protos, also the store's own, are in style, formatted, and compatible with the
# last release.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"

version=1.57.0

buf=$PWD/build/lint/node_modules/.bin/buf
export BUF_CACHE_DIR=$PWD/build/lint/cache
if [[ $("$buf" --version 2>/dev/null) != "$version" ]]; then
  need buf npm
  mkdir -p build/lint
  quietly npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund \
    --prefix build/lint "@bufbuild/buf@$version" || {
    echo "buf: npm could not install @bufbuild/buf@$version"
    exit 1
  }
fi

failed=0
judge=(--config tests/lint/buf.yaml)
"$buf" lint . "${judge[@]}" || failed=1
"$buf" format . "${judge[@]}" --diff --exit-code || {
  echo "buf: run $buf format . ${judge[*]} -w"
  failed=1
}
bash tests/lint/buf_breaking_test.sh "$buf" || failed=1
compared=$(bash tests/lint/buf_breaking.sh "$buf" .) || failed=1
if ((failed != 0)); then
  printf '%s\n' "$compared" "buf: has findings"
  exit 1
fi
echo "buf: the protos are in style and formatted; $compared"
