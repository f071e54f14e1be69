// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CuttingProxy: a TCP proxy on a free loopback port that cuts the first
// connection on which a given number of bytes have come from the server, or
// holds it there until the server closes it, and forwards all others whole.
//
// What a client sees is a network that breaks, or a server that stands still,
// in the middle of a message. Where no server is, connections are closed.

#ifndef LOSSSCALER_TESTS_TESTING_CUTTING_PROXY_H_
#define LOSSSCALER_TESTS_TESTING_CUTTING_PROXY_H_

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "lossscaler/sync/mutex.h"

namespace lossscaler::testing {

class CuttingProxy {
 public:
  enum class Then { kCut, kHold };

  // Forwards to 127.0.0.1:`port`.
  CuttingProxy(int port, std::int64_t cut_after_bytes, Then then = Then::kCut);
  ~CuttingProxy();

  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string address() const;

  // Whether a connection has been cut, or is held.
  bool cut() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until it is; false if half a minute was not enough.
  bool WaitUntilCut() ABSL_LOCKS_EXCLUDED(mutex_);

  // Forwards later connections to another port: that of a new server.
  void set_port(int port) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Accepts until the listener is shut down.
  void Accept();
  // Forwards between two sockets until one closes, or it is the one to cut.
  void Forward(int client, int server) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a connection on which so many bytes came is the one to cut.
  bool Cuts(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::int64_t cut_after_bytes_;
  const Then then_;
  int port_ = 0;
  const int listener_;

  Mutex mutex_;
  CondVar cut_changed_;
  int server_port_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool cut_ ABSL_GUARDED_BY(mutex_) = false;
  // Shut down to end the threads that forward them.
  std::vector<int> sockets_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> forwarders_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_CUTTING_PROXY_H_
