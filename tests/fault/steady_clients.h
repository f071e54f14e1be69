// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SteadyClients: well-behaved clients, by the client library: a solo session
// and a group of two workers that train as fast as they are answered. For tests
// of what others do to a server meanwhile.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_FAULT_STEADY_CLIENTS_H_
#define LOSSSCALER_TESTS_FAULT_STEADY_CLIENTS_H_

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/worker_session.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::testing {

class SteadyClients {
 public:
  static constexpr char kSolo[] = "steady/solo";
  static constexpr char kGroup[] = "steady/group";

  // Returns when all of them train.
  explicit SteadyClients(const std::string& address);
  ~SteadyClients();
  SteadyClients(const SteadyClients&) = delete;
  SteadyClients& operator=(const SteadyClients&) = delete;

  // Waits until each has had so many decisions more; false if one gets none for
  // half a minute.
  bool Train(int decisions);

  // Ends them. What any of them noticed of the others: every error, every
  // decision that is not APPLY, and whatever it had to wait for and try again.
  std::vector<std::string> Stop();

 private:
  enum Who { kSoloTrainer, kFirstWorker, kSecondWorker, kClients };

  bool Await(Who who, int decisions);
  ClientOptions Options(Who who);
  void Notice(Who who, const std::string& what);
  void TrainSolo();
  void TrainInGroup(Who who);

  const std::string address_;
  std::array<std::atomic<int>, kClients> decisions_{};
  // Of the first step on, nobody waits for anybody to arrive.
  std::atomic<bool> settled_ = false;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::vector<std::string> noticed_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_STEADY_CLIENTS_H_
