#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: group_demo.sh LOSSSCALERD SHARDED_WORKER SHARDED_DEMO [arguments of sharded_demo]
#
# Runs sharded_demo in a directory that is removed at the end, or below LOSSSCALER_DEMO_STATE,
# where a directory of its own is kept: the server's state and log, and what each rank printed.
# The exit code is sharded_demo's.
set -euo pipefail

lossscalerd=$1
worker=$2
demo=$3
shift 3

if [[ -n ${LOSSSCALER_DEMO_STATE:-} ]]; then
  mkdir -p -- "$LOSSSCALER_DEMO_STATE"
  dir=$(mktemp -d -- "$LOSSSCALER_DEMO_STATE/run.XXXXXX")
else
  dir=$(mktemp -d)
  remove=$dir
fi
running=

clean_up() {
  # Its children end with it.
  [[ -z $running ]] || kill -TERM "$running" 2>/dev/null || true
  wait
  [[ -z ${remove:-} ]] || rm -rf -- "$remove"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$demo" --lossscalerd "$lossscalerd" --worker "$worker" --folder "$dir" "$@" </dev/null &
running=$!
outcome=0
wait "$running" || outcome=$?
running=
if ((outcome != 0 && outcome != 2)) && [[ -s $dir/lossscalerd.log ]]; then
  printf '%s\n' 'demo: the end of the log of the server:' >&2
  tail -n 20 -- "$dir/lossscalerd.log" >&2
fi
exit "$outcome"
