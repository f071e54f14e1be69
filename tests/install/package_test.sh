#!/usr/bin/env bash
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: package_test.sh BUILD_DIR CXX
#
# Installs the build into a prefix that is removed at the end, and is its user: builds the
# quickstart by find_package and by pkg-config, trains with it against the installed server,
# asks the installed lossscalerctl, moves the prefix and runs the commands of the quickstart's
# README.md there.
set -euo pipefail

build=$1
cxx=$2
# What the caller's shell has set is not this test's.
unset "${!LOSSSCALER@}" DESTDIR

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
quickstart=$source/client/examples/quickstart

dir=$(mktemp -d)
server=
clean_up() {
  if [[ -n $server ]]; then
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf -- "$dir"
}
trap clean_up EXIT

fail() {
  printf 'package_test: %s\n' "$@" >&2
  exit 1
}

for tool in cmake ninja ccache pkg-config protoc python3 readelf ldd g++ "$cxx"; do
  command -v "$tool" >/dev/null || fail "this test needs $tool, which is not installed"
done

# quietly WHAT command...: the output is shown if the command fails.
quietly() {
  local what=$1
  shift
  "$@" >"$dir/log" 2>&1 || { cat -- "$dir/log" >&2 && fail "$what failed"; }
}

# The same names below $dir in every run: compiled once, found in the cache afterwards.
export CCACHE_BASEDIR=$dir CCACHE_NOHASHDIR=1

# configure PREFIX SOURCE BINARY [cmake arguments]
configure() {
  local prefix=$1 from=$2 to=$3
  shift 3
  cmake -G Ninja -S "$from" -B "$to" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
}

# project NAME: writes $dir/NAME with the CMakeLists.txt of standard input.
project() {
  mkdir -p -- "$dir/$1"
  cat >"$dir/$1/CMakeLists.txt"
}

prefix="$dir/first place"
quietly "installing" cmake --install "$build" --prefix "$prefix"

for file in bin/lossscalerd bin/lossscalerctl share/doc/lossscaler/LICENSE \
  include/lossscaler/{core/loss_scaler,sync/mutex,wire/convert,client/client,client/mocks/mock_connection}.h \
  include/lossscaler/v1/{scaler.pb,loss_scaler_service.grpc.pb}.h \
  share/lossscaler/proto/lossscaler/{v1/loss_scaler_service,rpc/error_details}.proto; do
  [[ -f $prefix/$file ]] || fail "$file is not installed"
done
[[ ! -e $prefix/include/lossscaler/client/internal ]] || fail "headers in client/internal are installed"
[[ ! -e $prefix/include/lossscaler/core/scaler_members.h ]] || fail "a header that is internal to core is installed"
# Debug information names sources, so only text counts.
if grep -rIlF -e "$source" -e "$build" -e "$prefix" -- "$prefix"; then
  fail "these files name a folder of the machine that built them"
fi

# The packages of what the programs link, but for those that each Debian program has.
linked_packages() {
  local program name path
  for program in "$prefix"/bin/*; do
    ldd "$program" >"$dir/ldd"
    readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
      path=$(awk -v name="$name" '$1 == name || $1 ~ "/" name "$" { print $2 == "=>" ? $3 : $1 }' "$dir/ldd")
      # A package may list its files below /lib or below /usr/lib: they are one folder.
      dpkg-query -S "${path#/usr}" 2>/dev/null || dpkg-query -S "/usr${path#/usr}" 2>/dev/null ||
        printf 'no-package-has-%s:\n' "$name"
    done
  done | sed 's/:.*//' | grep -vxE 'libc6|libgcc-s1' | sort -u
}
if command -v dpkg-query >/dev/null; then
  awk '/^\[/ { inside = ($0 == "[runtime]"); next } inside && NF && !/^#/' "$source/packages.txt" | sort >"$dir/runtime"
  linked_packages >"$dir/linked"
  diff -- "$dir/runtime" "$dir/linked" >&2 ||
    fail "packages.txt, section runtime, (<) is not what the installed programs link (>)"
fi

mkdir -- "$dir/stubs"
mapfile -t protos < <(cd -- "$prefix/share/lossscaler/proto" && find . -name '*.proto' -printf '%P\n')
quietly "compiling the installed protos" \
  protoc -I "$prefix/share/lossscaler/proto" --cpp_out "$dir/stubs" "${protos[@]}"

quietly "configuring the quickstart" configure "$prefix" "$quickstart" "$dir/by-cmake"
quietly "building the quickstart" cmake --build "$dir/by-cmake"

pkgconfig=$(dirname -- "$(find "$prefix" -name lossscaler-client.pc)")
# by_pkg_config PACKAGE SOURCE PROGRAM
by_pkg_config() {
  local cflags libs
  # It escapes as for a shell; xargs reads that.
  mapfile -t cflags < <(PKG_CONFIG_PATH=$pkgconfig pkg-config --cflags "$1" | xargs printf '%s\n')
  mapfile -t libs < <(PKG_CONFIG_PATH=$pkgconfig pkg-config --libs "$1" | xargs printf '%s\n')
  quietly "compiling $3 by pkg-config" ccache "$cxx" -std=c++20 "${cflags[@]}" -c "$2" -o "$dir/$3.o"
  quietly "linking $3 by pkg-config" "$cxx" "$dir/$3.o" -o "$dir/$3" "${libs[@]}"
}
by_pkg_config lossscaler-client "$quickstart/main.cc" by-pkg-config

cat >"$dir/core.cc" <<'TEXT'
#include <iostream>

#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "lossscaler/sync/mutex.h"

int main() {
  lossscaler::Mutex mutex;
  const lossscaler::MutexLock lock(&mutex);
  lossscaler::LossScaler scaler = *lossscaler::LossScaler::Dynamic(1024, 2, 10);
  scaler.Update(/*overflow=*/true);
  std::cout << scaler.scale() << "\n";
}
TEXT
project core <<'TEXT'
cmake_minimum_required(VERSION 3.16)
project(core LANGUAGES CXX)
set(CMAKE_VERSION 3.16.0) # As the package is read by a CMake that has no file sets.
find_package(lossscaler 0.1 REQUIRED COMPONENTS core)
if(TARGET lossscaler::client OR gRPC_FOUND OR Protobuf_FOUND OR GTest_FOUND)
  message(FATAL_ERROR "core has found what only the client needs")
endif()
add_executable(core ../core.cc)
target_link_libraries(core PRIVATE lossscaler::core lossscaler::sync)
TEXT
# No gRPC on this machine, as far as the project is concerned.
quietly "configuring a project that needs core only" configure "$prefix" "$dir/core" "$dir/core-build" \
  -DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
quietly "building a project that needs core only" cmake --build "$dir/core-build"
[[ $("$dir/core-build/core") == 512 ]] || fail "core: 1024 after an overflow is not 512"
by_pkg_config lossscaler-core "$dir/core.cc" core-by-pkg-config
[[ $("$dir/core-by-pkg-config") == 512 ]] || fail "core by pkg-config: 1024 after an overflow is not 512"

cat >"$dir/mocks.cc" <<'TEXT'
#include "lossscaler/client/client.h"
#include "lossscaler/client/mocks/mock_connection.h"

int main() {
  auto connection =
      std::make_shared<testing::NiceMock<lossscaler::MockConnection>>();
  EXPECT_CALL(*connection, DeleteSession)
      .WillOnce(testing::Return(absl::OkStatus()));
  return lossscaler::Client(connection).DeleteSession("a/b").ok() ? 0 : 1;
}
TEXT
project mocks <<'TEXT'
cmake_minimum_required(VERSION 3.16)
project(mocks LANGUAGES CXX)
find_package(lossscaler 0.1 REQUIRED COMPONENTS client_mocks)
if(NOT EXISTS "${lossscaler_PROTO_DIR}/lossscaler/v1/scaler.proto")
  message(FATAL_ERROR "no protos in lossscaler_PROTO_DIR: ${lossscaler_PROTO_DIR}")
endif()
add_executable(mocks ../mocks.cc)
target_link_libraries(mocks PRIVATE lossscaler::client_mocks)
TEXT
quietly "configuring a project that needs client_mocks" configure "$prefix" "$dir/mocks" "$dir/mocks-build"
quietly "building a project that needs client_mocks" cmake --build "$dir/mocks-build"
quietly "running a program with client_mocks" "$dir/mocks-build/mocks"

# refused TITLE WORDS ARGUMENTS: find_package(lossscaler ARGUMENTS) fails and says WORDS.
refused() {
  project refused <<TEXT
cmake_minimum_required(VERSION 3.16)
project(refused LANGUAGES CXX)
find_package(lossscaler $3)
TEXT
  rm -rf -- "$dir/refused-build"
  ! configure "$prefix" "$dir/refused" "$dir/refused-build" >"$dir/log" 2>&1 || fail "$1 is accepted"
  tr -s '[:space:]' ' ' <"$dir/log" | grep -qF -- "$2" ||
    { cat -- "$dir/log" >&2 && fail "$1 is refused without saying '$2'"; }
}
refused "a later minor version" 'compatible with requested version "0.2"' "0.2 REQUIRED"
refused "an earlier minor version" 'compatible with requested version "0.0"' "0.0 REQUIRED"
refused "a later major version" 'compatible with requested version "1"' "1 REQUIRED"
refused "an unknown component" "there is no component 'server' here" "0.1 REQUIRED COMPONENTS server"

export LOSSSCALER_ADDRESS
start_server() {
  local tenths
  "$prefix/bin/lossscalerd" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --store memory --ready-file "$dir/address" \
    >"$dir/server.log" 2>&1 </dev/null &
  server=$!
  for ((tenths = 300; tenths > 0; tenths--)); do
    [[ ! -s $dir/address ]] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  [[ -s $dir/address ]] || { cat -- "$dir/server.log" >&2 && fail "the installed server did not become ready"; }
  read -r LOSSSCALER_ADDRESS <"$dir/address"
}

stop_server() {
  local code=0
  kill -TERM "$server"
  wait "$server" || code=$?
  server=
  ((code == 0)) || { cat -- "$dir/server.log" >&2 && fail "the installed server ended with $code"; }
}

start_server

# train PROGRAM [arguments]: 100 steps end with the loss at nearly nothing.
train() {
  "$@" >"$dir/log" 2>&1 || { cat -- "$dir/log" >&2 && fail "$1 ended with an error"; }
  tail -n 1 -- "$dir/log" >"$dir/summary"
  [[ $(<"$dir/summary") =~ ^scale\ ([0-9.e+]+),\ applied\ ([0-9]+),\ skipped\ ([0-9]+),\ final\ loss\ ([0-9.e-]+)$ ]] ||
    { cat -- "$dir/log" >&2 && fail "the output of $1 does not end with its summary"; }
  scale=${BASH_REMATCH[1]} applied=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[3]} loss=${BASH_REMATCH[4]}
  ((applied + skipped == 100)) || fail "$1: $applied applied and $skipped skipped are not 100 steps"
  # The loss starts at 7 (half of 1 + 4 + 9) and shrinks by about 0.81 with every step applied.
  awk -v loss="$loss" 'BEGIN { exit !(loss < 1e-6) }' || fail "$1: the final loss is $loss"
}
train "$dir/by-cmake/quickstart" --address "$LOSSSCALER_ADDRESS"
# The largest gradient is about 3 at first: 3 * 65536 and 3 * 32768 are no float16.
((skipped >= 2)) || fail "the first gradients overflow, but $skipped steps were skipped"

quietly "lossscalerctl get" "$prefix/bin/lossscalerctl" --json get examples/quickstart
cp -- "$dir/log" "$dir/session.json"
python3 - "$dir/session.json" "$scale" "$applied" "$skipped" <<'TEXT' || fail "lossscalerctl and the quickstart disagree"
import json, sys
session = json.load(open(sys.argv[1]))
# Counters may be written as strings, as proto3 JSON does.
found = [float(session["current"]["scale"]), int(session["applied"]), int(session["skipped"])]
said = [float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])]
if found != said:
    sys.exit(f"lossscalerctl: {found}, quickstart: {said}")
TEXT

# In the environment is the address; the session is found again and goes on.
train "$dir/by-pkg-config"

quietly "lossscalerctl delete" "$prefix/bin/lossscalerctl" delete examples/quickstart
quietly "lossscalerctl create" "$prefix/bin/lossscalerctl" create examples/quickstart --none
code=0
"$dir/by-cmake/quickstart" >"$dir/log" 2>&1 || code=$?
((code == 1)) || fail "with a session of another configuration the quickstart ended with $code instead of 1"
code=0
"$dir/by-cmake/quickstart" --adress "$LOSSSCALER_ADDRESS" >"$dir/log" 2>&1 || code=$?
((code == 2)) || fail "after wrong usage the quickstart ended with $code instead of 2"

stop_server

mv -- "$prefix" "$dir/second-place"
prefix=$dir/second-place
start_server

# The commands of its README.md, in a copy of the quickstart; installing has been done.
cp -r -- "$quickstart" "$dir/copy"
rm -rf -- "$dir/copy/build"
sed -n 's/^\$ //p' "$quickstart/README.md" | grep -vF './run install' >"$dir/commands"
(($(wc -l <"$dir/commands") >= 7)) || fail "the quickstart's README.md has lost its commands"
sed -i "s|\\bPREFIX\\b|$prefix|g" "$dir/commands"
in_copy() (
  cd -- "$dir/copy"
  PATH=/usr/lib/ccache:$PATH CXX=$cxx bash -e -x "$dir/commands"
)
quietly "a command of the quickstart's README.md" in_copy
[[ $(grep -c '^scale .*, final loss ' "$dir/log") == 2 ]] ||
  { cat -- "$dir/log" >&2 && fail "by its README.md the quickstart does not train twice"; }
stop_server
