#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: fresh_machine.sh root|user|bare [command...]       (default: ./run demo, then ./run test)
#
# Runs the commands of this checkout on a machine that has never seen it: a minimal Debian 12
# with bash, apt and git in a folder of its own, entered by chroot, with the files that git
# would commit (uncommitted changes included) below a path with a space in it.
#   root   as root, without sudo and without HOME
#   user   as an ordinary user with sudo
#   bare   as an ordinary user without sudo: each command (default: ./run demo) must refuse to
#          install packages and say how to; this script then ends with 0
# Each command is one line for bash, e.g.: fresh_machine.sh user './run test dev'
#
# Needs root and debootstrap; packages come from where this machine's apt takes them.
# FRESH_MACHINE_BASE=DIR keeps the minimal system in DIR and starts from it the next time.
# Mounts live in a mount namespace of this script and end with it.
set -euo pipefail

who=${1:-}
case $who in
  root | user | bare) ;;
  *)
    sed -n '/^# usage/,/^set/ { /^#/ s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

missing=()
((EUID == 0)) || missing+=("root's rights (it makes mounts and enters a chroot)")
for tool in debootstrap unshare chroot git tar; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
if ((${#missing[@]} > 0)); then
  printf 'fresh_machine: this needs %s\n' "${missing[@]}" >&2
  exit 2
fi

if [[ ${FRESH_MACHINE_INSIDE:-} != yes ]]; then
  FRESH_MACHINE_INSIDE=yes exec unshare --mount --propagation private bash "${BASH_SOURCE[0]}" "$@"
fi
shift
if (($# == 0)); then
  set -- './run demo'
  [[ $who == bare ]] || set -- "$@" './run test'
fi

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=minimal_debian.sh
. "$checkout/tests/install/minimal_debian.sh"
work=$(mktemp -d)
machine=$work/machine
mounted=()

clean_up() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do
    umount -- "${mounted[i]}" || umount -l -- "${mounted[i]}"
  done
  rm -rf --one-file-system -- "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

inside() { chroot "$machine" "$@"; }

if [[ -n ${FRESH_MACHINE_BASE:-} ]]; then
  [[ -d $FRESH_MACHINE_BASE/etc ]] || make_minimal_debian "$FRESH_MACHINE_BASE" git ca-certificates
  cp -a -- "$FRESH_MACHINE_BASE" "$machine"
else
  make_minimal_debian "$machine" git ca-certificates
fi
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
mount -t proc proc "$machine/proc" && mounted+=("$machine/proc")
mount --bind /dev "$machine/dev" && mounted+=("$machine/dev")

environment=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
for name in LOSSSCALER_JOBS CCACHE_DISABLE; do
  [[ -z ${!name:-} ]] || environment+=("$name=${!name}")
done
case $who in
  root)
    home=/srv
    as=()
    ;;
  *)
    home=/home/dev
    inside useradd --create-home --shell /bin/bash dev
    as=(--userspec=dev:dev)
    environment+=(HOME=/home/dev USER=dev)
    ;;
esac
if [[ $who == user ]]; then
  inside bash -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends sudo' \
    >"$work/sudo.log" 2>&1 || { cat "$work/sudo.log" >&2 && exit 1; }
  echo 'dev ALL=(ALL) NOPASSWD: ALL' >"$machine/etc/sudoers.d/dev"
fi

tree="$home/loss scaler"
mkdir -p "$machine$tree"
git -C "$checkout" ls-files -z --cached --others --exclude-standard |
  tar -C "$checkout" --null --ignore-failed-read -T - -c | tar -x -C "$machine$tree"
inside chown -R "$([[ $who == root ]] && echo root:root || echo dev:dev)" "$tree"

in_tree() {
  chroot "${as[@]}" "$machine" "${environment[@]}" bash -c "cd '$tree' && $1" </dev/null
}

# refused COMMAND: it fails because packages are missing, and says how to install them.
refused() {
  local words
  ! in_tree "$1" >"$work/refused" 2>&1 || { cat "$work/refused" >&2 && echo "fresh machine: $1 was not refused" >&2 && exit 1; }
  for words in 'installing them needs root or sudo' 'As root: apt-get update && apt-get install'; do
    grep -qF -e "$words" "$work/refused" ||
      { cat "$work/refused" >&2 && echo "fresh machine: the refusal of $1 does not say '$words'" >&2 && exit 1; }
  done
}

for line in "$@"; do
  echo "fresh machine, $who: $line"
  began=$SECONDS
  if [[ $who == bare ]]; then
    refused "$line"
  else
    in_tree "$line"
  fi
  echo "fresh machine, $who: $line: $((SECONDS - began)) s"
done
