#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: demo_test.sh short|full|kill LOSSSCALERD DIGITS_TRAINER
#
#   short   the demonstration ends well and shows every run with plausible numbers
#   full    at its full length it shows what it claims: Dynamic ends within one point of float32,
#           has skipped steps on the way, and None has learnt next to nothing
#   kill    kill -9 of the server in mid-run and a restart two seconds later on the same
#           state and port: the trainer goes on by itself and ends with the same table as
#           an undisturbed run from the same seed
set -euo pipefail

what=$1
lossscalerd=$2
trainer=$3
demo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)/client/examples/demo.sh

dir=$(mktemp -d)
demo_pid=
restarted=
clean_up() {
  [[ -z $demo_pid ]] || kill -TERM "$demo_pid" 2>/dev/null || true
  [[ -z $restarted ]] || kill -KILL "$restarted" 2>/dev/null || true
  wait
  rm -rf -- "$dir"
}
trap clean_up EXIT

fail() {
  printf 'demo_test: %s\n' "$@" >&2
  [[ ! -e $dir/out ]] || cat -- "$dir/out" >&2
  [[ ! -e $dir/state/lossscalerd.log ]] || tail -n 50 -- "$dir/state/lossscalerd.log" >&2
  exit 1
}

# The table starts at the last line that begins with "run" and is the end of the output.
table() { awk '/^run / { text = "" } NF { text = text $0 "\n" } END { printf "%s", text }' "$1"; }

# Of the row of run $2 in the output $1: its column $3, counted from the end.
cell() { table "$1" | awk -v run="$2" -v column="$3" 'index($0, run) == 1 { print $(NF - column) }'; }

test_short() {
  bash "$demo" "$lossscalerd" "$trainer" --epochs 2 --seed 7 >"$dir/out" || fail "the demo ended with $?"
  [[ $(table "$dir/out" | wc -l) == 4 ]] || fail "the output does not end with a table of three runs"
  [[ $(cell "$dir/out" "float32" 1) == - ]] || fail "float32 has no loss scale, so it cannot skip steps"
  [[ $(cell "$dir/out" "float16, None" 0) == 1 ]] || fail "None has the scale 1"
  [[ $(cell "$dir/out" "float16, Dynamic" 1) =~ ^[0-9]+$ ]] || fail "Dynamic does not say how many steps it skipped"
  awk -v dynamic="$(cell "$dir/out" "float16, Dynamic" 5)" -v none="$(cell "$dir/out" "float16, None" 5)" \
    'BEGIN { exit !(dynamic > none) }' || fail "Dynamic does not learn more than None"
  # From 65536 by powers of two, in either direction.
  awk -v scale="$(cell "$dir/out" "float16, Dynamic" 0)" \
    'BEGIN { while (scale > 1) scale /= 2; exit scale != 1 }' || fail "the scale of Dynamic is not a power of two"
}

test_full() {
  bash "$demo" "$lossscalerd" "$trainer" >"$dir/out" || fail "the demo ended with $?"
  awk -v float32="$(cell "$dir/out" "float32" 4)" -v none="$(cell "$dir/out" "float16, None" 5)" \
    -v dynamic="$(cell "$dir/out" "float16, Dynamic" 5)" -v skipped="$(cell "$dir/out" "float16, Dynamic" 1)" '
    BEGIN {
      if (float32 < 97) print "float32 reaches only " float32 " %"
      if (dynamic < float32 - 1) print "Dynamic reaches " dynamic " %, more than one point below float32"
      if (none > 50) print "None reaches " none " %: the demo no longer shows what a scale is for"
      if (skipped < 1) print "no step was skipped"
    }' >"$dir/faults"
  [[ ! -s $dir/faults ]] || fail "$(cat "$dir/faults")"
}

test_kill() {
  local training=(--epochs 24 --seed 7 --only dynamic) line
  bash "$demo" "$lossscalerd" "$trainer" "${training[@]}" >"$dir/undisturbed" || fail "the undisturbed demo ended with $?"

  mkfifo "$dir/progress"
  LOSSSCALER_DEMO_STATE=$dir/state bash "$demo" "$lossscalerd" "$trainer" "${training[@]}" --pause-ms 5 >"$dir/progress" &
  demo_pid=$!
  exec 3<"$dir/progress"
  while IFS= read -r line <&3; do
    printf '%s\n' "$line" >>"$dir/out"
    [[ $line != *'epoch 12/24'* ]] || break
  done
  kill -KILL "$(<"$dir/state/lossscalerd.pid")" || fail "there is no server to kill in mid-run"
  cat <&3 >>"$dir/out" &
  exec 3<&-
  # Not a wait for anything: this is how long the server is away.
  sleep 2
  kill -0 "$demo_pid" || fail "the trainer ended without its server"

  "$lossscalerd" --store "sqlite:$dir/state/store" --listen "$(<"$dir/state/address")" --admin-listen 127.0.0.1:0 \
    >>"$dir/state/lossscalerd.log" 2>&1 &
  restarted=$!
  wait "$demo_pid" || fail "the disturbed demo ended with $?"
  demo_pid=
  kill -TERM "$restarted"
  wait "$restarted" || fail "the restarted server ended with $?"
  restarted=
  wait

  [[ $(table "$dir/undisturbed" | wc -l) == 2 ]] || fail "the undisturbed demo printed no table"
  diff <(table "$dir/undisturbed") <(table "$dir/out") >&2 || fail "the tables differ"
}

case $what in
  short) test_short ;;
  full) test_full ;;
  kill) test_kill ;;
  *) fail "no test is known by the name '$what'" ;;
esac
