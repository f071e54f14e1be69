// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/session.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/internal/session_state.h"
#include "lossscaler/client/internal/step_state.h"
#include "lossscaler/core/loss_scaler_json.h"

namespace lossscaler {

Session::Session(std::shared_ptr<State> state) : state_(std::move(state)) {}

const std::string& Session::name() const { return state_->ref.name; }

const std::string& Session::uid() const { return state_->ref.uid; }

const LossScaler& Session::config() const { return state_->config; }

Current Session::current() const { return state_->current(); }

std::int64_t Session::base() const { return state_->base(); }

void Session::set_base(std::int64_t base) { state_->set_base(base); }

Step Session::BeginStep() {
  // A step that cannot be settled now begins at the old number; its calls try
  // again, and have somebody to tell.
  state_->Settle().IgnoreError();
  return Step(std::make_unique<Step::State>(state_));
}

absl::StatusOr<SessionInfo> Session::Refresh() { return state_->Refresh(); }

absl::StatusOr<std::string> Session::CheckpointJson() {
  const absl::StatusOr<SessionInfo> info = Refresh();
  if (!info.ok()) return info.status();
  return ToJson(info->scaler);
}

absl::StatusOr<Decision> Session::Restore(const LossScaler& state) {
  return state_->Restore(state);
}

absl::Status Session::Delete() {
  return state_->connection->DeleteSession(state_->ref);
}

}  // namespace lossscaler
