// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Server: a lossscalerd of the demonstration's own.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_SERVER_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_SERVER_H_

#include <string>

#include "absl/status/status.h"
#include "sharded_trainer/launcher/process.h"

namespace lossscaler::sharded {

class Server {
 public:
  // Keeps its state, and writes its log, in `folder`.
  Server(std::string program, std::string folder);

  // Returns when it answers. Another time: with the same state and address.
  absl::Status Start();
  const std::string& address() const { return address_; }
  void Kill();
  // SIGTERM. An error if it does not drain.
  absl::Status Stop();

 private:
  const std::string program_;
  const std::string folder_;
  std::string address_ = "127.0.0.1:0";
  Process process_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_SERVER_H_
