// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CuttingProxy: a TCP proxy on a free loopback port that cuts its first
// connection after a given number of bytes from the server, and forwards all
// later ones whole.
//
// What a client sees is a network that breaks in the middle of a message.

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
  // Forwards to 127.0.0.1:`port`.
  CuttingProxy(int port, std::int64_t cut_after_bytes);
  ~CuttingProxy();

  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string address() const;

  // Whether the first connection has been cut.
  bool cut() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Accepts until the listener is shut down.
  void Accept();
  // Forwards between two sockets until one closes, or `budget` bytes have come
  // from the server. Negative: no limit.
  void Forward(int client, int server, std::int64_t budget);

  const int server_port_;
  const std::int64_t cut_after_bytes_;
  int listener_ = -1;
  int port_ = 0;

  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool cut_ ABSL_GUARDED_BY(mutex_) = false;
  // Shut down to end the threads that forward them.
  std::vector<int> sockets_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> forwarders_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_CUTTING_PROXY_H_
