// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Programs that a benchmark starts, and ends with itself.

#ifndef LOSSSCALER_TESTS_BENCH_PROCESS_PROGRAMS_H_
#define LOSSSCALER_TESTS_BENCH_PROCESS_PROGRAMS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "testing/server_process.h"

namespace lossscaler::bench {

// A program that was built beside this one.
std::string Beside(std::string_view program);

// Where a program of the machine is; nullopt if it is not installed.
std::optional<std::string> OnPath(std::string_view program);

// A server in a process of its own, and where it listens.
struct Server {
  std::unique_ptr<testing::ServerProcess> process;
  std::vector<std::string> addresses;
};

// Starts a server that writes its addresses, one a line, into the file named by
// `ready_file`. It does not outlive this process.
absl::StatusOr<Server> StartServer(const std::string& directory,
                                   std::vector<std::string> command,
                                   const std::string& ready_file);

// The same for one that says nothing when it is ready: it is once it accepts
// connections on the unix socket, which is its address.
absl::StatusOr<Server> StartUnixServer(const std::string& directory,
                                       std::vector<std::string> command,
                                       const std::string& socket);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_PROCESS_PROGRAMS_H_
