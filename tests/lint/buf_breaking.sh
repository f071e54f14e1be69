#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# buf_breaking.sh BUF CHECKOUT: compares the protos of a checkout with those of its last
# release, the last tag v*.
set -euo pipefail
buf=$1
cd "$2"

tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) ||
  tag=$(git tag --list 'v[0-9]*' --sort=-version:refname | head -n 1)
if [[ -z $tag ]]; then
  echo "no tag v* is here: there is no release to be compatible with yet"
  exit 0
fi
released=$(mktemp -d)
trap 'rm -rf "$released"' EXIT
git archive "$tag" proto | tar -x -C "$released"
"$buf" breaking proto --against "$released/proto" || {
  echo "the protos break what $tag published"
  exit 1
}
echo "they are compatible with $tag"
