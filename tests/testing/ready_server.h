// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ReadyServer: a real lossscalerd that serves, with an empty memory, at one
// address.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_TESTING_READY_SERVER_H_
#define LOSSSCALER_TESTS_TESTING_READY_SERVER_H_

#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "testing/server_process.h"
#include "testing/temp_directory.h"

namespace lossscaler::testing {

enum class Transport { kTcp, kUnix };

class ReadyServer {
 public:
  explicit ReadyServer(Transport transport,
                       const std::vector<std::string>& arguments = {})
      : process_(LOSSSCALER_BINARY_DIR "/server/lossscalerd", directory_.path(),
                 Arguments(transport, arguments)) {
    const auto addresses =
        process_.WaitUntilReady(directory_.path() + "/ready");
    EXPECT_EQ(addresses.size(), 1u) << process_.Err();
    if (!addresses.empty()) address_ = addresses[0];
  }

  const std::string& address() const { return address_; }
  pid_t pid() const { return process_.pid(); }

  // Asks it to end and returns its exit code: 0 only if every call had ended
  // within the drain timeout.
  std::optional<SpawnedProcess::Exit> Stop() {
    process_.Signal(SIGTERM);
    return process_.Wait();
  }
  std::string Log() const { return process_.Err(); }

 private:
  std::vector<std::string> Arguments(
      Transport transport, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {
        "--store=memory", "--ready-file", directory_.path() + "/ready",
        "--listen",
        transport == Transport::kTcp ? "127.0.0.1:0"
                                     : "unix:" + directory_.path() + "/socket"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const TempDirectory directory_;
  ServerProcess process_;
  std::string address_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_READY_SERVER_H_
