#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: demo.sh LOSSSCALERD DIGITS_TRAINER [trainer arguments]
#
# Starts a server, runs the trainer against it, stops the server. Everything lives in a
# directory that is removed at the end, or in LOSSSCALER_DEMO_STATE, which is kept and where
#   address           is where the server listens, written by the server once it answers
#   lossscalerd.pid   is its process
#   lossscalerd.log   is its log
#   store/            is its database
# so that the server can be killed and started again by hand while the trainer runs.
# The exit code is the trainer's; a server that does not drain in time makes it 1.
set -euo pipefail

lossscalerd=$1
trainer=$2
shift 2

dir=${LOSSSCALER_DEMO_STATE:-}
if [[ -n $dir ]]; then
  mkdir -p -- "$dir"
  dir=$(cd -- "$dir" && pwd -P)
else
  dir=$(mktemp -d)
  remove=$dir
fi
log=$dir/lossscalerd.log
server=
training=

say() { printf '%s\n' "demo: $*" >&2; }

# Ends our child $1 by SIGTERM. The answer is its exit code, or 124 if it had to be
# killed after $2 seconds.
stop() {
  local pid=$1 tenths=$(($2 * 10)) code=0
  kill -TERM "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do
    if ((tenths-- == 0)); then
      kill -KILL "$pid" 2>/dev/null || true
      wait "$pid" || true
      return 124
    fi
    sleep 0.1
  done
  wait "$pid" || code=$?
  return "$code"
}

clean_up() {
  [[ -z $training ]] || stop "$training" 5 || true
  [[ -z $server ]] || stop "$server" 30 || true
  [[ -z ${remove:-} ]] || rm -rf -- "$remove"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

start_server() {
  local command=("$lossscalerd" --store "sqlite:$dir/store" --admin-listen 127.0.0.1:0)
  rm -f -- "$dir/address"
  "${command[@]}" --listen "${LOSSSCALER_DEMO_LISTEN:-127.0.0.1:0}" --ready-file "$dir/address" \
    >"$log" 2>&1 </dev/null &
  server=$!
  printf '%s\n' "$server" >"$dir/lossscalerd.pid"

  local tenths=300
  until [[ -s $dir/address ]]; do
    if ! kill -0 "$server" 2>/dev/null || ((tenths-- == 0)); then
      say "the server did not become ready; its log:"
      cat -- "$log" >&2
      exit 1
    fi
    sleep 0.1
  done
  read -r address <"$dir/address"
  say "lossscalerd is process $server on $address"
  if [[ -z ${remove:-} ]]; then
    say "kill -9 it and start it again while the trainer runs:$(printf ' %q' "${command[@]}" --listen "$address")"
  fi
}

start_server
"$trainer" --address "$address" "$@" </dev/null &
training=$!
outcome=0
wait "$training" || outcome=$?
training=

drained=0
stop "$server" 30 || drained=$?
server=
case $drained in
  0) ;;
  137) say "the server that the demo started was killed" ;;
  *)
    say "the server ended with $drained instead of 0; its log:"
    cat -- "$log" >&2
    ((outcome != 0)) || outcome=1
    ;;
esac
exit "$outcome"
