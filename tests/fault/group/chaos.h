// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Chaos: disturbs a GroupJob at random for as long as asked: kills, stops and
// ends its processes, breaks its network, starts the job again and restores its
// session; and starts again what has ended.
//
// The seed fixes what is done and in which order; what it meets depends on the
// machine.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_CHAOS_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_CHAOS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "fault/group/group_job.h"

namespace lossscaler::testing {

class Chaos {
 public:
  // Notes each event in `log`.
  Chaos(GroupJob* job, std::uint64_t seed, std::ostream* log);

  // For `duration`, or until `stop` is set.
  void Run(absl::Duration duration, const volatile int& stop);
  // Stops disturbing, and waits until the job has applied `steps` further
  // steps.
  void AwaitRecovery(std::int64_t steps);

  // How often each event happened.
  const std::map<std::string, int>& events() const { return events_; }
  // What must not happen, one sentence each.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  struct Kind {
    std::string_view name;
    int weight;
    void (Chaos::*act)();
  };
  static const std::vector<Kind>& Kinds();

  int Below(int limit);
  absl::Duration Between(absl::Duration low, absl::Duration high);
  int AnyRank() { return Below(job_->workers()); }
  void Note(std::string_view event);
  void Later(absl::Duration delay, std::function<void()> act);
  // What Later() has put off and is due.
  void CatchUp();
  // Starts again what has ended.
  void Revive();
  void ReviveServer();
  void ReviveWorkers();

  void KillWorker();
  void EndWorker();
  void FreezeBriefly();
  void FreezeBeyondLease();
  void Freeze(int rank, absl::Duration how_long);
  void KillServer();
  void EndServer();
  void ArmFailpoint();
  void ResetConnections();
  void SlowDown();
  void LoseAnswers();
  void LoseRequests();
  void StartAttempt();
  void RestoreSession();

  GroupJob* const job_;
  std::ostream* const log_;
  const absl::Time start_;
  std::mt19937_64 random_;
  std::multimap<absl::Time, std::function<void()>> later_;
  // Where the server that is started next dies; empty: nowhere.
  std::string failpoint_;
  bool may_die_ = false;
  int restores_ = 0;
  std::map<std::string, int> events_;
  std::vector<std::string> failures_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_CHAOS_H_
