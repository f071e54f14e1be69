#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: without_daemons.sh COMMAND [argument...]
#
# Runs a command that installs Debian packages, as root. Only the tools of these packages are wanted: what
# daemons they bring is started neither now nor with the machine. What was there before stays as it is.
set -euo pipefail

# Debian asks this file before it starts one; a machine that has such a file keeps its own.
policy=/usr/sbin/policy-rc.d
# What is enabled, which Debian does whether or not systemd runs.
enabled() { find /etc/systemd/system -path '*.wants/*' -printf '%f\n' 2>/dev/null | sort -u || true; }

(($# > 0)) || { sed -n '/^# usage/,/^set/ { /^#/ s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}" >&2 && exit 2; }
if [[ ! -e $policy ]]; then
  trap 'rm -f -- "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
before=$(enabled)
code=0
"$@" || code=$?
mapfile -t added < <(comm -13 <(printf '%s\n' "$before") <(enabled))
if ((${#added[@]} > 0)) && command -v systemctl >/dev/null; then
  now=()
  [[ ! -d /run/systemd/system ]] || now=(--now)
  systemctl --quiet disable "${now[@]}" "${added[@]}" ||
    printf 'without_daemons: these will start with the machine: %s\n' "${added[*]}" >&2
fi
exit "$code"
