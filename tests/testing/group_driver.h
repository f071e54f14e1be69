// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GroupDriver: what owns a coordinator, without store and network: writes every
// change at once, keeps the decisions, and collects what callers are told.

#ifndef LOSSSCALER_TESTS_TESTING_GROUP_DRIVER_H_
#define LOSSSCALER_TESTS_TESTING_GROUP_DRIVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "testing/votes.h"

namespace lossscaler::testing {

// A group of `workers`, neither more nor fewer, with leases of 30 s and steps
// of at most 60 s.
inline GroupConfig GroupOf(std::int64_t workers) {
  GroupConfig config;
  config.min_workers = config.max_workers = workers;
  config.step_timeout = absl::Seconds(60);
  return config;
}

class GroupDriver {
 public:
  explicit GroupDriver(const GroupConfig& config,
                       const LossScaler& scaler = GoldenScaler());

  const Coordinator& core() const { return *core_; }
  Coordinator& core() { return *core_; }
  const SessionState& state() const { return core_->state(); }
  const std::map<std::int64_t, Decision>& journal() const { return journal_; }
  // A decision of step 0 if there is none.
  Decision Last() const {
    return journal_.empty() ? Decision() : journal_.rbegin()->second;
  }
  absl::Time now() const { return now_; }
  Moment moment() const { return {.monotonic = now_, .wall = now_}; }

  // Joins a worker under a fresh request id, and remembers its incarnation.
  WorkerRef Join(const std::string& worker,
                 std::optional<Checkpoint> checkpoint = std::nullopt,
                 std::int64_t attempt = 0);
  absl::StatusOr<WorkerRef> Join(const JoinEvent& event);
  absl::Status Leave(const WorkerRef& worker);
  absl::Status Restore(const LossScaler& scaler,
                       std::optional<std::int64_t> if_epoch = std::nullopt);
  absl::Status Present(const WorkerRef& worker, const Checkpoint& checkpoint);

  // A vote that suits the open step, as that session's worker would send it.
  Vote Suitable(Verdict verdict) const;
  // Sends a vote on the open step, or another one.
  CallId Send(const WorkerRef& worker, Verdict verdict);
  CallId Send(const WorkerRef& worker, std::int64_t step, const Vote& vote);
  CallId Send(VoteEvent event);
  // What the call was told; nullptr: it waits.
  const absl::StatusOr<Decision>* AnswerTo(CallId call) const;
  // REQUIRES: it does not wait.
  const absl::StatusOr<Decision>& Answered(CallId call) const {
    return answers_.at(call);
  }

  // Lets time pass, and keeps the leases of `alive` up.
  void Advance(absl::Duration duration,
               const std::vector<WorkerRef>& alive = {});
  // Kills the server and starts it again.
  void Restart();
  // The same after a power loss, with relaxed durability.
  void LosePower();
  // Makes the changes that are due.
  void Settle();
  // Everything that a refused event must leave alone.
  std::pair<SessionState, std::vector<std::optional<Vote>>> Snapshot() const;

  std::string TokenOf(const WorkerRef& worker) const;

 private:
  void Write(const Change& change);
  // `decision` is the one that an OK answer stands for.
  void Answer(const VoteAnswer& answer, const Decision& decision);

  absl::Time now_ = absl::FromUnixSeconds(1000);
  std::unique_ptr<Coordinator> core_;
  std::map<std::int64_t, Decision> journal_;
  std::map<CallId, absl::StatusOr<Decision>> answers_;
  CallId last_call_ = 0;
  int last_request_ = 0;
  std::int64_t losses_ = 0;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_GROUP_DRIVER_H_
