#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: test-image.sh
#
# Builds the image of docker/Dockerfile and proves what docker/README.md says of it, a line for each.
# Takes a running engine (DOCKER_HOST, or the default one); where there is none and this is root on
# Debian, it makes one for itself (private_engine.sh). It takes as long as a release build.
#
# Ends with 0 if all is proved, 1 if something is not, 77 if there is no engine and none can be had.
#
# LOSSSCALER_IMAGE_BASE=DIR   keep the minimal Debian of an own engine in DIR, for the next time
# LOSSSCALER_JOBS=N           compile this many files at once (default: by processors)
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
(($# == 0)) || { sed -n '/^# usage/,/^set/ { /^#/ s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}" >&2 && exit 2; }
# shellcheck source=private_engine.sh
. "$root/docker/private_engine.sh"

work=$(mktemp -d)
image=lossscalerd:image-test-$$
slim=debian:bookworm-slim
label=lossscaler.image-test=$$
volume=lossscaler-image-test-$$
most_megabytes=60
proofs=0
servers=()
remove_slim=no
engine=none
build=

docker() { "$client" "$@"; }

clean_up() {
  local code=$?
  trap - EXIT
  trap '' INT TERM HUP
  [[ -z $build ]] || kill "$build" 2>/dev/null || true
  if [[ $engine == running ]]; then
    docker ps --all --quiet --filter "label=$label" | xargs --no-run-if-empty "$client" rm --force --volumes >/dev/null || true
    docker volume rm --force "$volume" "$volume-restored" >/dev/null || true
    docker image rm --force "$image" >/dev/null 2>&1 || true
    [[ $remove_slim == no ]] || docker image rm "$slim" >/dev/null || true
  fi
  private_engine_stop
  rm -rf --one-file-system -- "$work"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

proved() {
  printf 'image: proved: %s\n' "$*"
  proofs=$((proofs + 1))
}

fail() {
  local server
  printf 'image: FAILED: %s\n' "$*" >&2
  for server in "${servers[@]}"; do
    printf 'image: the log of %s:\n' "$server" >&2
    docker logs "$server" >&2 || true
  done
  exit 1
}

# expect WHAT WORDS TEXT: the text has the words.
expect() {
  [[ $3 == *"$2"* ]] || fail "$1: expected '$2' in: $3"
}

# same WHAT EXPECTED ACTUAL
same() {
  [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

# eventually WHAT COMMAND...: within a minute it succeeds.
eventually() {
  local what=$1 tenths
  shift
  for ((tenths = 600; tenths > 0; tenths--)); do
    ! "$@" || return 0
    sleep 0.1
  done
  fail "$what: not within a minute"
}

client=$(command -v /usr/bin/docker || command -v docker) || client=/usr/bin/docker
if docker version >/dev/null 2>&1; then
  engine=running
elif why=$(private_engine_is_possible); then
  engine=own
  private_engine_start "$work" || fail "no own engine"
  client=/usr/bin/docker
else
  printf 'image: SKIPPED: no engine is running, and %s. Nothing was proved.\n' "$why" >&2
  exit 77
fi
printf 'image: engine %s, %s\n' "$(docker version --format '{{.Server.Version}}')" "$engine"

# What containers of users should be given, and so are these.
hardened=(--label "$label" --read-only --cap-drop ALL --security-opt no-new-privileges)
# By default the server listens on fixed ports, which on the host's network may be another's.
socket=(--tmpfs "/run/lossscaler:uid=10001,gid=10001,mode=0700,size=64k" --env LOSSSCALER_ADDRESS=unix:/run/lossscaler/socket)

# program PROGRAM [argument...]: in a container of its own that has no network.
program() {
  local name=$1
  shift
  docker run --rm "${hardened[@]}" --network none --entrypoint "$name" "$image" "$@"
}

# serve NAME [option of docker run...] -- [argument of lossscalerd...]
serve() {
  local name=$volume-$1 options=()
  shift
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  docker run --detach --name "$name" "${hardened[@]}" "${options[@]}" "$image" "${@:2}" >/dev/null
  servers+=("$name")
}

# ctl [argument...]: from outside of the server's container.
ctl() {
  docker run --rm "${hardened[@]}" --network host --env "LOSSSCALER_ADDRESS=$address" --entrypoint lossscalerctl "$image" "$@"
}

# refused CODE WORDS COMMAND...: it ends with that code, and says the words.
refused() {
  local code=0
  "${@:3}" >"$work/refused" 2>&1 || code=$?
  same "the exit code of ${*:3}" "$1" "$code"
  expect "${*:3}" "$2" "$(<"$work/refused")"
}

health() { docker inspect --format '{{.State.Health.Status}}' "$1"; }
has_health() { [[ $(health "$1") == "$2" ]]; }
has_logged() { (($(docker logs "$1" 2>&1 | grep -c " info $2 ") >= $3)); }

# stopped NAME: it drains on SIGTERM, which `docker stop` sends.
stopped() {
  docker stop --time 30 "$1" >/dev/null
  same "exit code after docker stop" 0 "$(docker inspect --format '{{.State.ExitCode}}' "$1")"
  docker logs "$1" >"$work/log" 2>&1
  expect "the log after docker stop" "info signal name=SIGTERM" "$(<"$work/log")"
  expect "the log after docker stop" "info draining" "$(<"$work/log")"
  same "the last event" "info stopped" "$(tail -n 1 "$work/log" | cut -d ' ' -f 2-3)"
}

# gradients FILE BYTES: an .npy of four float32, as printf escapes; the header fills 128 bytes.
gradients() {
  {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
    # shellcheck disable=SC2059 # Bytes, not words.
    printf "$2"
  } >"$1"
  chmod 644 "$1"
}

# unscale IN OUT [argument...]: from and to files of this machine; a volume is where the image lets write.
unscale() {
  local container inside=/var/lib/lossscaler
  container=$(docker create "${hardened[@]}" --network host --env "LOSSSCALER_ADDRESS=$address" --entrypoint lossscalerctl \
    "$image" --json unscale image/test/run "$inside/in.npy" --output "$inside/out.npy" "${@:3}")
  docker cp "$1" "$container:$inside/in.npy" >/dev/null
  docker start --attach "$container"
  docker cp "$container:$inside/out.npy" "$2" >/dev/null
  docker rm --volumes "$container" >/dev/null
}

# bytes FILE: of the four float32, in hexadecimal.
bytes() { tail -c 16 "$1" | od -An -v -tx1 | tr -d ' \n'; }

echo "image: building"
# In the background, so that a signal need not wait for its end.
DOCKER_BUILDKIT=1 "$client" build --network host --progress plain ${LOSSSCALER_JOBS:+--build-arg "JOBS=$LOSSSCALER_JOBS"} \
  --build-arg SOURCE=https://example.org/lossscaler --build-arg REVISION=0123abc \
  --file "$root/docker/Dockerfile" --tag "$image" "$root" >"$work/build.log" 2>&1 </dev/null &
build=$!
wait "$build" || { tail -n 100 "$work/build.log" >&2 && fail "it does not build"; }
build=
proved "it builds from docker/Dockerfile, packages.txt and the sources"

version=$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' "$root/CMakeLists.txt")
same "lossscalerd --version" "lossscalerd $version" "$(program lossscalerd --version)"
same "lossscalerctl --version" "lossscalerctl $version" "$(program lossscalerctl --version)"
expect "lossscalerd --help" "drain" "$(program lossscalerd --help)"
expect "lossscalerctl --help" "SYNOPSIS" "$(program lossscalerctl --help)"
same "the label version" "$version" "$(docker inspect --format '{{index .Config.Labels "org.opencontainers.image.version"}}' "$image")"
same "the label licenses" Apache-2.0 "$(docker inspect --format '{{index .Config.Labels "org.opencontainers.image.licenses"}}' "$image")"
same "the label source" https://example.org/lossscaler "$(docker inspect --format '{{index .Config.Labels "org.opencontainers.image.source"}}' "$image")"
same "the label revision" 0123abc "$(docker inspect --format '{{index .Config.Labels "org.opencontainers.image.revision"}}' "$image")"
same "packages.txt" "" "$(program find / -xdev -name packages.txt -not -path '/proc/*' 2>/dev/null)"
proved "both programs say their help and version, $version, which is also on the label"

if ! docker image inspect "$slim" >/dev/null 2>&1; then
  docker pull --quiet "$slim" >/dev/null
  remove_slim=yes
fi
size=$(docker image inspect --format '{{.Size}}' "$image")
base=$(docker image inspect --format '{{.Size}}' "$slim")
megabytes=$(awk -v bytes=$((size - base)) 'BEGIN { printf "%.1f", bytes / 1e6 }')
((size - base <= most_megabytes * 1000 * 1000)) || fail "it has $megabytes MB on top of $slim; at most $most_megabytes are allowed"
proved "it has $megabytes MB on top of $slim, of at most $most_megabytes"

same "the user" 10001:10001 "$(docker inspect --format '{{.Config.User}}' "$image")"
same "id" "uid=10001(lossscaler) gid=10001(lossscaler) groups=10001(lossscaler)" "$(program id)"
proved "its user is 10001:10001"

as_root() { docker run --rm --user 0 --network none --label "$label" --entrypoint "$1" "$image" "${@:2}"; }
same "files with setuid or setgid" "" "$(as_root find / -xdev -type f -perm /6000)"
same "what everybody may write" "" "$(as_root find / -xdev -perm -0002 ! -type l ! '(' -type d -perm -1000 ')')"
proved "no file in it gives the rights of another user, and none is open to everybody"

same "what its user can write, read-only" /var/lib/lossscaler "$(program find / -xdev -path /proc -prune -o -writable -print 2>/dev/null)"
as_user() { docker run --rm --label "$label" --network none --entrypoint "$1" "$image" "${@:2}"; }
same "what its user can write otherwise" "/run/lock /tmp /var/lib/lossscaler /var/tmp" \
  "$(as_user find / -xdev -path /proc -prune -o -path /sys -prune -o -path /dev -prune -o -writable ! -type l -print 2>/dev/null | sort | paste -s -d ' ')"
proved "its user can write the volume, and without --read-only what Debian opens to all; nothing else"

serve defaults --network none --
eventually "healthy with the defaults" has_health "$volume-defaults" healthy
expect "a list of the sessions" "[]" "$(docker exec "$volume-defaults" lossscalerctl --json list)"
stopped "$volume-defaults"
proved "with the defaults, a read-only root, no capability and no new privileges it becomes healthy and drains"

serve ailing --network none --env LOSSSCALER_ADDRESS=unix:/run/nowhere --health-interval 1s --health-retries 1 --health-start-period 1ms --
eventually "unhealthy without a server" has_health "$volume-ailing" unhealthy
expect "what health said" "unix:/run/nowhere" "$(docker inspect --format '{{range .State.Health.Log}}{{.Output}}{{end}}' "$volume-ailing")"
proved "its HEALTHCHECK finds a server that cannot be reached unhealthy, and says why"

arguments=(--listen 127.0.0.1:0 --listen unix:/run/lossscaler/socket --admin-listen 127.0.0.1:0)
server=$volume-server
serve server --network host "${socket[@]}" --mount "type=volume,source=$volume,target=/var/lib/lossscaler" -- "${arguments[@]}"

# listening COUNT: it has started that often.
listening() {
  eventually "start number $1" has_logged "$server" serving "$1"
  address=$(docker logs "$server" 2>&1 | sed -n 's/.* info serving addresses=\([0-9.]*:[0-9]*\),.*/\1/p' | tail -n 1)
  [[ -n $address ]] || fail "no address in the log"
}
listening 1
eventually "healthy" has_health "$server" healthy
proved "with a named volume it becomes healthy by its own HEALTHCHECK"

ctl create image/test/run --dynamic --init-scale 1024 --growth-interval 2 >/dev/null
expect "half a loss, scaled" '"scaled":512.0' "$(ctl --json scale image/test/run 0.5)"
# 1024, -2048, 512, 0 over 1024: 1, -2, 0.5, 0, whose norm is the root of 5.25.
gradients "$work/finite.npy" '\x00\x00\x80\x44\x00\x00\x00\xc5\x00\x00\x00\x44\x00\x00\x00\x00'
found=$(unscale "$work/finite.npy" "$work/unscaled.npy")
same "the gradients over 1024" 0000803f000000c00000003f00000000 "$(bytes "$work/unscaled.npy")"
expect "finite gradients" '"overflow":false' "$found"
expect "finite gradients" '"norm":2.2912878' "$found"
decision=$(ctl --json update image/test/run --finite)
expect "a finite vote" '"outcome":"APPLY"' "$decision"
expect "a finite vote" '"scale_after":1024.0' "$decision"
proved "from outside: created with 1024, a loss scaled, gradients unscaled to the bit, step 1 applied"

# The last is infinite.
gradients "$work/infinite.npy" '\x00\x00\x80\x44\x00\x00\x00\xc5\x00\x00\x00\x44\x00\x00\x80\x7f'
found=$(unscale "$work/infinite.npy" "$work/unscaled.npy")
expect "infinite gradients" '"overflow":true' "$found"
expect "infinite gradients" '"positive_infinity":1' "$found"
decision=$(ctl --json update image/test/run --overflow)
expect "a vote of overflow" '"outcome":"SKIP_OVERFLOW"' "$decision"
expect "a vote of overflow" '"scale_after":512.0' "$decision"
proved "from outside: an infinite gradient is found, step 2 skipped, the scale halved"

state() { ctl --json get image/test/run; }
before=$(state)
expect "the session" '"current":{"step":3,"scale":512.0,"base":1,"epoch":1}' "$before"
expect "the session" '"applied":1,"skipped":1' "$before"
stopped "$server"
proved "SIGTERM drains: exit code 0, and the log says so"
refused 3 UNAVAILABLE ctl --deadline 1s get image/test/run

docker start "$server" >/dev/null
listening 2
same "the session after a restart" "$before" "$(state)"
proved "step 3 and scale 512 are kept over a restart"

docker kill --signal KILL "$server" >/dev/null
docker rm --force "$server" >/dev/null
servers=()
serve server --network host "${socket[@]}" --mount "type=volume,source=$volume,target=/var/lib/lossscaler" -- "${arguments[@]}"
listening 1
same "the session in a new container" "$before" "$(state)"
decision=$(ctl --json update image/test/run --finite --step 3 --base 1)
expect "the vote after it" '"scale_after":512.0' "$decision"
stopped "$server"
proved "they are kept over SIGKILL and a new container on the same volume, and the run goes on"

# In the volume is what a backup of a stopped server is.
docker run --rm --label "$label" --network none --mount "type=volume,source=$volume,target=/var/lib/lossscaler" \
  --entrypoint cat "$image" /var/lib/lossscaler/lossscaler.db >"$work/backup.db"
docker run --rm --interactive --label "$label" --network none --mount "type=volume,source=$volume-restored,target=/var/lib/lossscaler" \
  --entrypoint sh "$image" -c 'umask 077 && cat >/var/lib/lossscaler/lossscaler.db' <"$work/backup.db"
docker rm --force "$server" >/dev/null
servers=()
serve server --network host "${socket[@]}" --mount "type=volume,source=$volume-restored,target=/var/lib/lossscaler" -- "${arguments[@]}"
listening 1
expect "the session from a backup" '"current":{"step":4,"scale":512.0,"base":3,"epoch":1}' "$(state)"
stopped "$server"
proved "a copy of the database, laid into a new volume, is the same run"

printf 'image: %s things proved, %s MB on top of %s\n' "$proofs" "$megabytes" "$slim"
