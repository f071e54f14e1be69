#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# buf_breaking.sh BUF CHECKOUT: compares the protos of a checkout, also those of the store,
# with those of the release before it.
#
# A release is a tag vMAJOR.MINOR.PATCH that HEAD contains, or a heading of that version in
# CHANGELOG.md as it was one commit before: a release commit gets its tag afterwards. A tag
# on HEAD itself counts only for protos that have been edited since.
set -euo pipefail
buf=$1
config=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/buf.yaml
cd "$2"

changelog() { git show HEAD^:CHANGELOG.md 2>/dev/null || cat CHANGELOG.md 2>/dev/null || true; }

# Tags, the latest version first; one that CHANGELOG.md names may not be here.
releases() {
  {
    git tag --merged HEAD
    changelog | sed -n 's/^## \[\(.*\)\].*/v\1/p'
  } | grep -xE 'v[0-9]+\.[0-9]+\.[0-9]+' | sort -ruV
}

head=$(git rev-parse HEAD)
edited=$(git status --porcelain -- proto server/store)
tag=
while read -r release; do
  commit=$(git rev-parse --verify --quiet "refs/tags/$release^{commit}") || {
    echo "CHANGELOG.md names the release $release, but the tag $release is not here to compare with:" \
      "git fetch --tags (in a shallow clone: git fetch --tags --unshallow)"
    exit 1
  }
  if [[ $commit != "$head" || -n $edited ]]; then
    tag=$release
    break
  fi
done < <(releases)

if [[ -z $tag ]]; then
  if [[ $(git rev-parse --is-shallow-repository) == true && ! -f CHANGELOG.md ]]; then
    echo "this shallow clone does not show whether there is a release: git fetch --tags --unshallow"
    exit 1
  fi
  echo "there is no release before this commit to be compatible with"
  exit 0
fi
released=$(mktemp -d)
trap 'rm -rf "$released"' EXIT
git archive "$tag" proto server/store | tar -x -C "$released"
"$buf" breaking . --config "$config" --against "$released" --against-config "$config" || {
  echo "the protos break what $tag published"
  exit 1
}
echo "they are compatible with $tag"
