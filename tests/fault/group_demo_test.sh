#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: group_demo_test.sh together|chaos|restart LOSSSCALERD SHARDED_WORKER SHARDED_DEMO
#
#   together  with the service the ranks never disagree, though one of them overflows; alone they
#             do, and learn less
#   chaos     a rank and the server are killed and a rank is frozen beyond its lease, and the run
#             ends with a decision log without conflict
#   restart   all ranks are killed and come back from a checkpoint with one join each and one
#             restore, and end with the parameters of an undisturbed run
#
# The demonstration checks its claims itself and prints each; this test checks that it made them
# all, and compares the numbers that it prints once more.
set -euo pipefail

what=$1
lossscalerd=$2
worker=$3
demo=$4
script=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)/client/examples/group_demo.sh

out=$(mktemp)
trap 'rm -f -- "$out"' EXIT

fail() {
  printf 'group_demo_test: %s\n' "$@" >&2
  cat -- "$out" >&2
  exit 1
}

# demonstrate CLAIMS [arguments]: it ends well and makes that many claims.
demonstrate() {
  local claims=$1
  shift
  bash "$script" "$lossscalerd" "$worker" "$demo" "$@" >"$out" || fail "the demo ended with $?"
  ! grep -q '^  FAILS  ' "$out" || fail "a claim fails, but the demo ended with 0"
  [[ $(grep -c '^  holds  ' "$out") == "$claims" ]] || fail "the demo does not make $claims claims"
}

# Of the row that begins with $1: its column $2, counted from the end.
cell() { awk -v row="$1" -v column="$2" 'index($0, row) == 1 { print $(NF - column) }' "$out"; }

case $what in
  together)
    demonstrate 7 --iterations 160
    [[ $(cell "the service" 0) == 0 ]] || fail "with the service the ranks disagreed"
    (($(cell "the service" 1) > 0)) || fail "no rank was the only one that overflowed"
    (($(cell "each rank alone" 0) > 0)) || fail "alone the ranks did not disagree"
    ;;
  chaos)
    demonstrate 7 --chaos --iterations 160
    for rank in 2 3; do
      [[ $(grep -c "because \"rank-$rank\" was lost" "$out") == 1 ]] ||
        fail "not exactly one step was skipped for rank $rank"
    done
    ;;
  restart)
    demonstrate 6 --restart --iterations 120
    expected=$(cell "undisturbed" 0)
    [[ $expected =~ ^[0-9a-f]{16}$ && $(cell "restarted" 0) == "$expected" ]] ||
      fail "the parameters differ from those of the undisturbed run"
    ;;
  *) fail "no test is known by the name '$what'" ;;
esac
