#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh [--all] [CHECK...]: runs the checks (default: all), every one of them whatever
# the others found, and ends with a table. Fails if one failed. `./run lint` is its door.
#
# A check is a script in checks/: it prints one line when all is well and its findings
# otherwise. A missing tool is a finding. Lines that begin with "notice: " are repeated below
# the table: what a check had to guess or leave out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export LOSSSCALER_LINT_ALL=
checks=()
for word in "$@"; do
  if [[ $word == --all ]]; then
    LOSSSCALER_LINT_ALL=1
  else
    checks+=("$word")
  fi
done
if ((${#checks[@]} == 0)); then
  mapfile -t checks < <(bash tests/lint/check_names.sh)
fi

said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed=0
table=$(printf '%-10s %-6s %6s' check result time)$'\n'
for check in "${checks[@]}"; do
  began=$SECONDS
  result=ok
  bash "tests/lint/checks/$check.sh" </dev/null 2>&1 | tee -a "$said" || result=FAILED
  [[ $result == ok ]] || failed=1
  table+=$(printf '%-10s %-6s %4d s' "$check" "$result" $((SECONDS - began)))$'\n'
done

printf '\n%s' "$table"
grep '^notice: ' "$said" || true
exit "$failed"
