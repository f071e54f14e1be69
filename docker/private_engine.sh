# shellcheck shell=bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced: a Docker engine of one's own, for a while, on a Debian machine that has none and
# reaches nothing but Debian packages. Needs root. What it installs stays; all else goes.
#
#   private_engine_is_possible  says why not, if it is not
#   private_engine_start DIR    engine, images debian:bookworm and debian:bookworm-slim; sets DOCKER_HOST
#   private_engine_stop         at the end, and after anything that goes wrong
#
# LOSSSCALER_IMAGE_BASE=DIR keeps the minimal Debian of the images in DIR and starts from it the next time.

private_engine_sources=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=../tests/install/minimal_debian.sh
. "$private_engine_sources/tests/install/minimal_debian.sh"

private_engine_supervisor=
private_engine_traces=()

private_engine_is_possible() {
  ((EUID == 0)) || { echo "an own one needs root" && return 1; }
  grep -qx ID=debian /etc/os-release 2>/dev/null || { echo "an own one needs Debian" && return 1; }
  # In many containers this is refused, and an engine needs it too.
  unshare --mount --pid --fork --mount-proc true 2>/dev/null || { echo "mount and process namespaces are refused here" && return 1; }
}

# Section image of packages.txt. The engine of the machine, which comes with it, is not to run.
private_engine_install() {
  local wanted missing=() name log
  mapfile -t wanted < <(awk -v want='[image]' '/^\[/ { inside = ($0 == want); next } inside && NF && !/^#/' "$private_engine_sources/packages.txt")
  for name in "${wanted[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
  done
  ((${#missing[@]} > 0)) || return 0
  echo "installing ${missing[*]}"
  log=$(mktemp)
  { apt-get -q update &&
    bash "$private_engine_sources/tests/install/without_daemons.sh" env DEBIAN_FRONTEND=noninteractive \
      apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 ||
    { cat "$log" >&2 && rm -f "$log" && return 1; }
  rm -f "$log"
}

# The engine's processes, its containers and their mounts live in namespaces whose first process is
# dockerd: they end with it, however it ends; and it ends with this shell, however that ends.
private_engine_start() {
  local dir=$1 base=${LOSSSCALER_IMAGE_BASE:-$1/debian} path paths tenths
  private_engine_install || return 1
  mkdir -p "$dir/engine"
  # What an engine leaves behind outside of its folders.
  paths=(/sys/fs/cgroup /sys/fs/cgroup/*)
  for path in /etc/docker /opt/containerd /run/docker /run/containerd "${paths[@]/%//docker}"; do
    [[ -e $path ]] || private_engine_traces+=("$path")
  done
  setpriv --pdeathsig KILL -- unshare --mount --propagation private --pid --fork --kill-child=KILL --mount-proc -- \
    dockerd --oom-score-adjust=0 --bridge=none --iptables=false --ip6tables=false --ip-forward=false \
    --exec-opt native.cgroupdriver=cgroupfs --data-root "$dir/engine/data" --exec-root "$dir/engine/exec" \
    --pidfile "$dir/engine/pid" --host "unix://$dir/engine/socket" >"$dir/engine/log" 2>&1 </dev/null &
  private_engine_supervisor=$!
  export DOCKER_HOST=unix://$dir/engine/socket DOCKER_CONFIG=$dir/engine/config
  for ((tenths = 600; tenths > 0; tenths--)); do
    ! /usr/bin/docker version >/dev/null 2>&1 || break
    kill -0 "$private_engine_supervisor" 2>/dev/null || break
    sleep 0.1
  done
  /usr/bin/docker version >/dev/null 2>&1 ||
    { cat "$dir/engine/log" >&2 && echo "dockerd did not start" >&2 && return 1; }

  # The last file that is made.
  if [[ ! -e $base/etc/apt/apt.conf.d/90machine ]]; then
    echo "making the base images by debootstrap"
    make_minimal_debian "$base" || return 1
  fi
  tar -C "$base" --one-file-system -c . |
    /usr/bin/docker import --change 'CMD ["bash"]' - debian:bookworm-slim >/dev/null || return 1
  # The official two differ in documentation only.
  /usr/bin/docker tag debian:bookworm-slim debian:bookworm
}

private_engine_stop() {
  local first path tenths
  [[ -n $private_engine_supervisor ]] || return 0
  # unshare takes no signal while its child lives. All else in the namespace ends before its first process has.
  first=$(cat "/proc/$private_engine_supervisor/task/$private_engine_supervisor/children" 2>/dev/null) || true
  kill -KILL "${first:-$private_engine_supervisor}" 2>/dev/null || true
  wait "$private_engine_supervisor" 2>/dev/null || true
  private_engine_supervisor=
  for path in "${private_engine_traces[@]}"; do
    case $path in
      # A cgroup is busy for a moment after its last process.
      /sys/*)
        for ((tenths = 50; tenths > 0; tenths--)); do
          [[ -d $path ]] || break
          find "$path" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
        done
        ;;
      *) rm -rf --one-file-system -- "$path" ;;
    esac
  done
}
