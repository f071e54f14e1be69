// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GroupSimulation: a server, some workers, and a network that loses, doubles
// and reorders what they say to each other.

#ifndef LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_SIMULATION_H_
#define LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_SIMULATION_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "property/core/group_messages.h"
#include "property/core/simulated_server.h"
#include "property/core/simulated_worker.h"

namespace lossscaler::simulation {

class GroupSimulation {
 public:
  explicit GroupSimulation(std::uint64_t seed);

  // One event, of whatever kind.
  void Step();
  // No more faults, and a new attempt of the job from one checkpoint.
  void BecomeQuiet();
  // Of the server; bounded runs of Step() after BecomeQuiet() raise it.
  std::int64_t applied() const { return server_.rules().applied(); }

 private:
  using Message = std::variant<Request, Reply>;

  SessionState NewState();
  void Send(Message message);
  void Deliver();
  void Act(SimulatedWorker* worker);
  void FindPeerFor(SimulatedWorker* worker);
  void PassTime(int limit_milliseconds);
  void Fault();
  void Leave(SimulatedWorker* worker);
  void Restart(SimulatedWorker* worker, int checkpoint_percent);
  void RestoreSession();
  // Of the whole job, from one checkpoint.
  void BeginAttempt();
  std::optional<Saved> AnyCheckpoint();

  Chance chance_;
  World world_;
  bool faults_ = true;
  std::int64_t attempt_ = 0;
  std::vector<Message> network_;
  SimulatedServer server_;
  std::vector<SimulatedWorker> workers_;
};

}  // namespace lossscaler::simulation

#endif  // LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_SIMULATION_H_
