// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FaultyProxy: a TCP proxy on a free loopback port that disturbs what it
// forwards as a test says.
//
// Where no server is, connections are closed.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_TESTS_TESTING_FAULTY_PROXY_H_
#define LOSSSCALER_TESTS_TESTING_FAULTY_PROXY_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::testing {

class FaultyProxy {
 public:
  FaultyProxy();
  ~FaultyProxy();
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;

  std::string address() const;

  // Forwards new connections to 127.0.0.1:`port`.
  void set_port(int port) ABSL_LOCKS_EXCLUDED(mutex_);
  // Everything takes so much longer, in both directions, from now on.
  void set_delay(absl::Duration delay) ABSL_LOCKS_EXCLUDED(mutex_);
  // While set, what comes from the server, or from the clients, is thrown away.
  // A connection that has lost something is reset when that ends.
  void DropAnswers(bool drop) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropRequests(bool drop) ABSL_LOCKS_EXCLUDED(mutex_);
  // Resets every connection (RST).
  void Reset() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Link {
    int client = -1;
    int server = -1;
    bool has_lost_requests = false;
    bool has_lost_answers = false;
    std::thread forwarder;
  };

  // Accepts until the listener is shut down.
  void Accept();
  void Connect(int client) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forwards until one side closes.
  void Forward(Link* link) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether there is more to come.
  bool Pass(Link* link, bool from_client) ABSL_LOCKS_EXCLUDED(mutex_);
  static void ResetSockets(const Link& link);
  void ResetThoseThatLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  int port_ = 0;
  const int listener_;

  Mutex mutex_;
  int server_port_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration delay_ ABSL_GUARDED_BY(mutex_);
  bool drop_answers_ ABSL_GUARDED_BY(mutex_) = false;
  bool drop_requests_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Kept until the end: what a descriptor means must not change under a thread.
  std::vector<std::unique_ptr<Link>> links_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_FAULTY_PROXY_H_
