// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "property/core/group_simulation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/solo.h"

namespace lossscaler::simulation {
namespace {

// How much may be under way. Without faults the network is fast for the
// timeouts of the session.
constexpr std::size_t kMessagesInFlight = 40;
constexpr std::size_t kQuietMessagesInFlight = 6;
constexpr int kPauseMilliseconds = 1500;
constexpr int kQuietPauseMilliseconds = 150;

LossScaler GrowingScaler() { return *LossScaler::Dynamic(1024.0, 2.0, 3); }

}  // namespace

GroupSimulation::GroupSimulation(std::uint64_t seed)
    : chance_(seed),
      world_{.chance = &chance_, .config = GrowingScaler()},
      server_(NewState(), &chance_,
              [this](const Reply& reply) { Send(reply); }) {
  const auto count = server_.durable().group->config.max_workers;
  for (int slot = 0; slot < count; ++slot) {
    workers_.emplace_back(slot, &world_);
    Restart(&workers_.back(), 30);
  }
}

SessionState GroupSimulation::NewState() {
  SessionState state =
      NewSession("run", "uid", world_.config, "", absl::UnixEpoch());
  GroupConfig config;
  config.max_workers = 1 + chance_.Below(3);
  config.min_workers = 1 + chance_.Below(static_cast<int>(config.max_workers));
  config.lease_ttl = absl::Seconds(5 + chance_.Below(40));
  config.step_timeout = absl::Seconds(1 + chance_.Below(30));
  config.on_loss = static_cast<LossPolicy>(chance_.Below(3));
  config.on_timeout = static_cast<StragglerPolicy>(chance_.Below(4));
  config.max_timeouts = 1 + chance_.Below(4);
  config.early_decision = chance_.Percent(70);
  state.group = GroupState{.config = config};
  return state;
}

void GroupSimulation::Step() {
  const int draw = chance_.Below(100);
  SimulatedWorker* worker =
      &workers_[chance_.Below(static_cast<int>(workers_.size()))];
  if (draw < 45) {
    Deliver();
  } else if (draw < 80) {
    Act(worker);
  } else if (draw < 92) {
    PassTime(faults_ ? kPauseMilliseconds : kQuietPauseMilliseconds);
  } else if (faults_) {
    Fault();
  }
}

void GroupSimulation::Send(Message message) {
  if (faults_ && chance_.Percent(5)) return;
  if (faults_ && chance_.Percent(5)) network_.push_back(message);
  network_.push_back(std::move(message));
}

void GroupSimulation::Deliver() {
  if (network_.empty()) return;
  const int index = chance_.Below(static_cast<int>(network_.size()));
  const Message message = network_[index];
  network_.erase(network_.begin() + index);
  if (const auto* request = std::get_if<Request>(&message)) {
    server_.Take(*request);
    return;
  }
  const Reply& reply = std::get<Reply>(message);
  SimulatedWorker* worker = &workers_[reply.request.slot];
  if (worker->Take(reply) && chance_.Percent(30)) Leave(worker);
}

void GroupSimulation::Act(SimulatedWorker* worker) {
  const std::size_t limit =
      faults_ ? kMessagesInFlight : kQuietMessagesInFlight;
  if (!worker->running() || network_.size() >= limit) return;
  // Until it is in sync it may abstain.
  if (worker->lost_base() && !worker->has_voted() && !chance_.Percent(30)) {
    return FindPeerFor(worker);
  }
  Send(worker->NextRequest());
}

void GroupSimulation::FindPeerFor(SimulatedWorker* worker) {
  for (const SimulatedWorker& peer : workers_) {
    if (&peer != worker && peer.alive() &&
        peer.parameters().base == server_.base()) {
      return worker->Resync(peer, server_.durable().current());
    }
  }
  if (!chance_.Percent(30)) return;
  // The base is gone for good: only a new attempt of the job gets on.
  if (faults_) {
    Restart(worker, 100);
  } else {
    BeginAttempt();
  }
}

void GroupSimulation::PassTime(int limit_milliseconds) {
  server_.PassTime(absl::Milliseconds(chance_.Below(limit_milliseconds)));
}

void GroupSimulation::Fault() {
  const int draw = chance_.Below(100);
  SimulatedWorker* worker =
      &workers_[chance_.Below(static_cast<int>(workers_.size()))];
  if (draw < 20) {
    worker->Die();
  } else if (draw < 55) {
    if (!worker->alive()) Restart(worker, 30);
  } else if (draw < 70) {
    worker->SetFrozen(worker->alive() && worker->running());
  } else if (draw < 76) {
    PassTime(30'000);
  } else if (draw < 82) {
    if (worker->running() && worker->joined()) Leave(worker);
  } else if (draw < 87) {
    server_.DieAndReload();
  } else if (draw < 92) {
    ++attempt_;
    for (SimulatedWorker& each : workers_) Restart(&each, 100);
  } else if (draw < 95) {
    RestoreSession();
  }
}

void GroupSimulation::Leave(SimulatedWorker* worker) {
  Send(worker->LeaveRequest());
  Restart(worker, 70);
}

void GroupSimulation::Restart(SimulatedWorker* worker, int checkpoint_percent) {
  std::optional<Saved> loaded;
  if (chance_.Percent(checkpoint_percent)) loaded = AnyCheckpoint();
  worker->Start(attempt_, std::move(loaded));
}

std::optional<Saved> GroupSimulation::AnyCheckpoint() {
  const int count = static_cast<int>(world_.checkpoints.size());
  if (count == 0) return Saved{.scaler = world_.config};
  return world_.checkpoints[chance_.Below(count)];
}

// A person restores the session, and most of the workers.
void GroupSimulation::RestoreSession() {
  const std::int64_t step = server_.durable().step;
  std::optional<std::int64_t> if_epoch;
  if (chance_.Percent(50)) if_epoch = server_.durable().epoch;
  if (!server_.Restore(world_.config, if_epoch)) return;
  for (std::int64_t k = step; k < server_.durable().step; ++k) {
    const auto decision = server_.rules().journal().find(k);
    if (decision->second.request_id.empty()) continue;
    const Parameters restored{absl::StrCat("restored", k), {"uid", k}};
    world_.histories[KeyOf(restored.base)] = restored.history;
    for (SimulatedWorker& worker : workers_) {
      if (chance_.Percent(70)) {
        worker.Load(restored, server_.durable().current());
      }
    }
  }
}

void GroupSimulation::BecomeQuiet() {
  faults_ = false;
  server_.BecomeReliable();
  BeginAttempt();
}

void GroupSimulation::BeginAttempt() {
  ++attempt_;
  const std::optional<Saved> loaded = AnyCheckpoint();
  for (SimulatedWorker& worker : workers_) worker.Start(attempt_, loaded);
}

}  // namespace lossscaler::simulation
