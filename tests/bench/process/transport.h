// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Transport: how client and server of a benchmark reach each other, and a
// server that can be reached by one of them only. gRPC is told how to treat a
// connection by the server, not by the address: a server that listens on both
// would treat one of them as the other.

#ifndef LOSSSCALER_TESTS_BENCH_PROCESS_TRANSPORT_H_
#define LOSSSCALER_TESTS_BENCH_PROCESS_TRANSPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/process/programs.h"

namespace lossscaler::bench {

enum class Transport { kTcp, kUnix };

inline constexpr Transport kTransports[] = {Transport::kTcp, Transport::kUnix};

// "tcp", "unix".
std::string_view TransportName(Transport transport);

// Starts `command` with an address of `transport` to listen on and the name of
// its ready file added to it, in a new folder below `directory`.
absl::StatusOr<Server> StartOn(Transport transport,
                               const std::string& directory,
                               std::string_view name,
                               std::vector<std::string> command);

// The same for the program `lossscalerd`. `durability`: "memory", or that of
// its SQLite store, "relaxed" or "full". `more`: further arguments.
absl::StatusOr<Server> StartLossscalerdOn(
    Transport transport, const std::string& directory,
    const std::string& lossscalerd, std::string_view durability,
    const std::vector<std::string>& more = {});

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_PROCESS_TRANSPORT_H_
