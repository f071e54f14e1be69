# shellcheck shell=bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced: a minimal Debian 12 in a folder, by debootstrap, as root. Its packages come from
# where this machine's apt takes them.

# This machine's Debian package sources, one line each as sources.list wants them.
# shellcheck disable=SC2016 # apt-get fills in $(SITE) and the like.
minimal_debian_sources() {
  apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
    'Identifier: Packages' 'Origin: Debian' | sort -u
}

# make_minimal_debian DIR [PACKAGE...]
make_minimal_debian() {
  local base=$1 mirror log
  shift
  mirror=$(minimal_debian_sources | awk '$3 == "bookworm" { print $2; exit }')
  # Without lists there is no origin to ask for: apt-get update first.
  [[ -n $mirror ]] || { echo "no source of Debian bookworm packages is known here" >&2 && return 1; }
  log=$(mktemp)
  debootstrap --variant=minbase ${1:+"--include=$(IFS=, && echo "$*")"} bookworm "$base" "$mirror" >"$log" 2>&1 ||
    { cat "$log" >&2 && rm -f "$log" && return 1; }
  rm -f "$log"
  minimal_debian_sources >"$base/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(https?::|Check-)' >"$base/etc/apt/apt.conf.d/90machine" || true
  rm -rf -- "$base"/var/lib/apt/lists/* "$base"/var/cache/apt/archives/*.deb
}
