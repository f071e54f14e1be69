// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/session.h"

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

Step Session::BeginStep() {
  return Step(std::make_unique<Step::State>(state_));
}

absl::StatusOr<SessionInfo> Session::Refresh() {
  absl::StatusOr<SessionInfo> info =
      state_->connection->GetSession(state_->ref);
  if (info.ok()) state_->Learn(info->current);
  return info;
}

absl::StatusOr<std::string> Session::CheckpointJson() {
  const absl::StatusOr<SessionInfo> info = Refresh();
  if (!info.ok()) return info.status();
  return ToJson(info->scaler);
}

absl::StatusOr<Decision> Session::Restore(const LossScaler& state) {
  absl::StatusOr<RestoreAnswer> answer = state_->connection->RestoreSession(
      state_->ref, state, state_->current().epoch);
  if (!answer.ok()) return answer.status();
  state_->Learn(answer->session.current);
  return std::move(answer->decision);
}

}  // namespace lossscaler
