// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SimulatedServer: a coordinator with a store that always works and a process
// that may die before or after any write.

#ifndef LOSSSCALER_TESTS_PROPERTY_CORE_SIMULATED_SERVER_H_
#define LOSSSCALER_TESTS_PROPERTY_CORE_SIMULATED_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "property/core/group_messages.h"
#include "property/core/group_rules.h"

namespace lossscaler::simulation {

class SimulatedServer {
 public:
  // `reply` sends. Both pointers outlive the server.
  SimulatedServer(SessionState state, Chance* chance,
                  std::function<void(const Reply&)> reply);

  const SessionState& durable() const { return durable_; }
  const GroupRules& rules() const { return rules_; }
  Base base() const { return {durable_.base_session_uid(), durable_.base}; }

  void Take(const Request& request);
  void PassTime(absl::Duration duration);
  // RestoreSession; false if it did not get written.
  bool Restore(const LossScaler& scaler, std::optional<std::int64_t> if_epoch);
  void DieAndReload();
  // From now on the process does not die between two lines.
  void BecomeReliable() { reliable_ = true; }

 private:
  struct Call {
    Request request;
    absl::Time since;
  };

  Moment moment() const { return {.monotonic = now_, .wall = now_}; }
  void Join(const Request& request);
  void Heartbeat(const Request& request);
  void Vote(const Request& request);
  void RequireActive(const WorkerRef& worker) const;
  void CheckWaiting() const;
  // These are false if the process died.
  bool Settle();
  bool Write(const Change& change);
  bool Dies();
  void Answer(const VoteAnswer& answer, const Decision& decision);
  void Send(Reply reply);

  Chance* const chance_;
  const std::function<void(const Reply&)> reply_;
  SessionState durable_;
  GroupRules rules_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
  std::unique_ptr<Coordinator> core_;
  std::map<CallId, Call> calls_;
  CallId last_call_ = 0;
  int last_token_ = 0;
  bool reliable_ = false;
};

}  // namespace lossscaler::simulation

#endif  // LOSSSCALER_TESTS_PROPERTY_CORE_SIMULATED_SERVER_H_
