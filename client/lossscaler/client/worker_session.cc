// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/worker_session.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/random/random.h"
#include "lossscaler/client/internal/boottime_clock.h"
#include "lossscaler/client/internal/worker_state.h"
#include "lossscaler/client/internal/worker_step_state.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

internal::LinkOptions LinkOptionsOf(const WorkerOptions& options) {
  return {.unavailable_budget = options.unavailable_budget,
          .on_wait = options.on_wait,
          .wait_report_interval = options.wait_report_interval,
          .clock = options.clock ? options.clock
                                 : std::make_shared<internal::BoottimeClock>(),
          .random = [] {
            static thread_local absl::InsecureBitGen generator;
            return absl::Uniform<double>(generator, 0.0, 1.0);
          }};
}

}  // namespace

absl::StatusOr<WorkerSession> WorkerSession::Join(
    std::shared_ptr<Connection> connection, std::string_view session,
    const WorkerOptions& options) {
  JoinEvent join{.worker = options.worker,
                 .resume_token = options.resume_token,
                 .attempt = options.attempt.value_or(0)};
  if (!options.checkpoint.empty()) {
    if (options.from_the_start) {
      return MakeError(Reason::kInvalidField,
                       "a worker that loads a checkpoint does not begin from "
                       "the start; set one of the two",
                       {{"field", "from_the_start"}});
    }
    absl::StatusOr<WorkerCheckpoint> loaded =
        WorkerCheckpointFromBytes(options.checkpoint);
    if (!loaded.ok()) return loaded.status();
    if (!options.attempt) join.attempt = loaded->attempt;
    join.checkpoint = std::move(loaded->checkpoint);
  }
  const absl::StatusOr<SessionInfo> info =
      connection->GetSession({.name = std::string(session), .uid = ""});
  if (!info.ok()) return info.status();
  if (options.from_the_start) join.checkpoint = {.scaler = info->config};

  auto state = std::make_shared<internal::WorkerState>(
      std::move(connection), *info, LinkOptionsOf(options), std::move(join));
  if (absl::Status status = state->Join(); !status.ok()) return status;
  return WorkerSession(std::move(state));
}

WorkerSession::WorkerSession(std::shared_ptr<internal::WorkerState> state)
    : state_(std::move(state)) {}

WorkerSession::WorkerSession(WorkerSession&&) noexcept = default;

WorkerSession& WorkerSession::operator=(WorkerSession&& other) noexcept {
  if (this == &other) return *this;
  if (state_) state_->Stop();
  state_ = std::move(other.state_);
  return *this;
}

// Steps may outlive the session; its thread does not.
WorkerSession::~WorkerSession() {
  if (state_) state_->Stop();
}

const std::string& WorkerSession::name() const { return state_->ref.name; }

const std::string& WorkerSession::uid() const { return state_->ref.uid; }

const LossScaler& WorkerSession::config() const { return state_->config; }

WorkerRef WorkerSession::worker() const { return state_->link->worker(); }

std::string WorkerSession::resume_token() const {
  return state_->resume_token();
}

Membership WorkerSession::membership() const {
  return state_->link->membership();
}

absl::StatusOr<WorkerStep> WorkerSession::BeginStep() {
  absl::StatusOr<internal::BegunStep> begun = state_->Begin();
  if (!begun.ok()) return begun.status();
  return WorkerStep(
      std::make_unique<WorkerStep::State>(state_, *std::move(begun)));
}

std::optional<PendingDecision> WorkerSession::UnansweredVote() const {
  std::shared_ptr<internal::PendingVote> vote = state_->UnansweredVote();
  if (!vote) return std::nullopt;
  return PendingDecision(state_, std::move(vote));
}

Base WorkerSession::base() const { return state_->base(); }

void WorkerSession::set_base(const Base& base) { state_->set_base(base); }

std::optional<std::int64_t> WorkerSession::iteration() const {
  return state_->iteration();
}

void WorkerSession::set_iteration(std::int64_t iteration) {
  state_->set_iteration(iteration);
}

absl::StatusOr<std::string> WorkerSession::Checkpoint() {
  const absl::StatusOr<WorkerCheckpoint> saved = state_->Save();
  if (!saved.ok()) return saved.status();
  return ToBytes(*saved);
}

absl::Status WorkerSession::Present(std::string_view checkpoint) {
  const absl::StatusOr<WorkerCheckpoint> loaded =
      WorkerCheckpointFromBytes(checkpoint);
  if (!loaded.ok()) return loaded.status();
  return state_->Present(*loaded);
}

absl::Status WorkerSession::Rejoin() { return state_->Rejoin(); }

absl::Status WorkerSession::Leave() { return state_->Leave(); }

}  // namespace lossscaler
