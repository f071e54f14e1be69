#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# tidy: clang-tidy over changed files, or over everything (--all).
#
# A changed header is checked through the source beside it, or through the first one that
# includes it: its own findings are the same in each.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../checkout.sh"
need tidy clang-tidy clang++ cmake ninja python3

configure_clang || {
  echo "tidy: configuring the preset clang failed"
  exit 1
}
# What sources include and the compiler has not seen yet: generated headers, precompiled ones.
mapfile -t generated < <(ninja -C build/clang -t targets all |
  sed -n 's/^\(.*\.\(pb\.h\|pch\)\): .*/\1/p')
quietly cmake --build --preset clang --parallel "$jobs" --target "${generated[@]}" || {
  echo "tidy: generating headers failed"
  exit 1
}

mapfile -t compiled < <(python3 - build/clang/compile_commands.json <<'PYTHON'
import json, os, sys
for entry in json.load(open(sys.argv[1])):
    path = os.path.relpath(entry["file"])
    if not path.startswith(("build/", "..")):
        print(path)
PYTHON
)

# The compiled ones among, or standing for, the files on standard input.
sources_of() {
  local file root include
  while read -r file; do
    case $file in
      *.cc) printf '%s\n' "$file" ;;
      *.h)
        if [[ -f ${file%.h}.cc ]]; then
          printf '%s\n' "${file%.h}.cc"
        else
          include=$file
          for root in lib client server tests; do
            include=${include#"$root"/}
          done
          grep -lF -e "#include \"$include\"" -e "#include \"${file##*/}\"" "${compiled[@]}" | head -n 1 || true
        fi
        ;;
    esac
  done | sort -u | grep -xF "$(printf '%s\n' "${compiled[@]}")" || true
}

if [[ -n ${LOSSSCALER_LINT_ALL:-} ]]; then
  what="all"
  sources=("${compiled[@]}")
else
  what="changed"
  changed=$(bash tests/lint/changed_files.sh)
  mapfile -t sources < <(sources_of <<<"$changed")
fi
if ((${#sources[@]} == 0)); then
  echo "tidy: no C++ file has changed"
  exit 0
fi

one() {
  local said
  said=$(clang-tidy --quiet -p build/clang "$1" 2>&1) || {
    printf '%s\n' "$said" | grep -v ' warnings\? generated\.$'
    return 1
  }
}
export -f one
# shellcheck disable=SC2016 # The inner shell's own argument.
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$jobs" bash -c 'one "$1"' one || {
  echo "tidy: clang-tidy has findings"
  exit 1
}
echo "tidy: $what files, ${#sources[@]} sources, are fine"
