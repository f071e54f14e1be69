// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SimulatedWorker: a trainer that keeps to the rules of the client, and checks
// that it is never told to apply what it must not.

#ifndef LOSSSCALER_TESTS_PROPERTY_CORE_SIMULATED_WORKER_H_
#define LOSSSCALER_TESTS_PROPERTY_CORE_SIMULATED_WORKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lossscaler/core/coordinator.h"
#include "property/core/group_messages.h"

namespace lossscaler::simulation {

// Parameters are what was done to them.
struct Parameters {
  std::string history = "initial";
  Base base;
};

struct Saved {
  Parameters parameters;
  LossScaler scaler;
  std::int64_t iteration = 0;
};

// What all workers share outside the service: a file system with checkpoints,
// and the knowledge which parameters each base stands for.
struct World {
  Chance* chance = nullptr;
  LossScaler config;
  // By KeyOf(base). Two workers at one base have the same parameters.
  std::map<std::string, std::string> histories = {{"initial", "initial"}};
  std::vector<Saved> checkpoints;
  int last_id = 0;

  std::string NewId() { return absl::StrCat("id", ++last_id); }
};

class SimulatedWorker {
 public:
  SimulatedWorker(int slot, World* world);

  // Starts the process (again): with a checkpoint to present or without, with
  // its resume token or, as often, without.
  void Start(std::int64_t attempt, std::optional<Saved> loaded);
  void Die() { alive_ = frozen_ = false; }
  void SetFrozen(bool frozen) { frozen_ = frozen; }
  // What a person has restored.
  void Load(const Parameters& parameters, const Current& current);

  bool alive() const { return alive_; }
  bool running() const { return alive_ && !frozen_; }
  bool joined() const { return joined_; }
  bool lost_base() const { return lost_base_; }
  bool has_voted() const { return vote_.has_value(); }
  const Parameters& parameters() const { return parameters_; }

  // What it sends when it has a moment.
  Request NextRequest();
  Request LeaveRequest() const;
  // True if it has seen a different checkpoint than its own.
  bool Take(const Reply& reply);
  // A live peer's parameters, at the session's base.
  void Resync(const SimulatedWorker& peer, const Current& current);

 private:
  Request Of(Request::Kind kind) const;
  void MakeVote();
  void GoTo(const Current& current);
  void TakeJoin(const Reply& reply);
  void TakeHeartbeat(const Reply& reply);
  void TakeVote(const Reply& reply);
  void CarryOut(const Decision& decision, const std::string& session_uid);
  void Rejoin();

  const int slot_;
  World* const world_;
  int life_ = 0;
  bool alive_ = false;
  bool frozen_ = false;
  bool joined_ = false;
  bool active_ = false;
  bool lost_base_ = false;
  std::int64_t attempt_ = 0;
  std::int64_t incarnation_ = 0;
  std::string token_;
  std::string join_id_;
  std::optional<Checkpoint> presented_;
  Parameters parameters_;
  std::int64_t iteration_ = 0;
  std::int64_t step_ = 1;
  double scale_ = 1;
  std::optional<Request> vote_;
  std::int64_t last_vote_ = 0;
};

}  // namespace lossscaler::simulation

#endif  // LOSSSCALER_TESTS_PROPERTY_CORE_SIMULATED_WORKER_H_
