// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/open_votes.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "lossscaler/client/internal/check_answer.h"
#include "lossscaler/client/internal/retry_loop.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// Errors of a vote that only say "not yet": the session waits for workers, or
// the worker for the session. They spend no budget.
bool IsNotYet(const absl::Status& error) {
  const std::optional<Reason> reason = ReasonOf(error);
  return reason == Reason::kSessionPaused || reason == Reason::kNotActive;
}

}  // namespace

OpenVotes::OpenVotes(std::string session_uid, absl::Duration longest_pause,
                     std::function<double()> random)
    : session_uid_(std::move(session_uid)),
      longest_pause_(longest_pause),
      random_(std::move(random)) {}

void OpenVotes::Add(std::shared_ptr<PendingVote> vote) {
  votes_.push_back(std::move(vote));
}

absl::Time OpenVotes::SendDue(absl::Time now, const Send& send) {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& vote : votes_) {
    if (vote->sent) continue;
    if (now < vote->send_at) {
      next = std::min(next, vote->send_at);
      continue;
    }
    vote->sent = true;
    vote->sent_at = now;
    vote->sequence = send(*vote);
  }
  return next;
}

void OpenVotes::StreamLost() {
  for (const auto& vote : votes_) vote->sent = false;
}

void OpenVotes::SessionOpened(absl::Time now) {
  for (const auto& vote : votes_) {
    if (IsNotYet(vote->failure)) vote->send_at = std::min(vote->send_at, now);
  }
}

void OpenVotes::Answered(std::int64_t sequence) {
  for (const auto& vote : votes_) {
    if (!vote->sent || vote->sequence >= sequence) continue;
    vote->failing_since.reset();
    vote->failure = absl::OkStatus();
  }
}

std::optional<absl::Time> OpenVotes::Answer(std::int64_t sequence,
                                            absl::StatusOr<Decision> answer,
                                            absl::Time now) {
  const auto found =
      std::find_if(votes_.begin(), votes_.end(), [&](const auto& vote) {
        return vote->sent && vote->sequence == sequence;
      });
  if (found == votes_.end()) return std::nullopt;
  const std::shared_ptr<PendingVote> vote = *found;
  Take(vote.get(), std::move(answer), now);
  if (vote->answer) votes_.erase(found);
  return vote->sent_at;
}

void OpenVotes::Take(PendingVote* vote, absl::StatusOr<Decision> answer,
                     absl::Time now) {
  if (answer.ok()) {
    if (absl::Status wrong =
            CheckAnswer(*answer, session_uid_, vote->step, vote->vote);
        !wrong.ok()) {
      answer = wrong;
    }
    vote->answer = std::move(answer);
    return;
  }
  const absl::Status& error = answer.status();
  if (!IsNotYet(error) && !IsRetryable(error, Idempotency::kIdempotent)) {
    vote->answer = error;
    return;
  }
  vote->sent = false;
  vote->send_at = now + RetryDelayOf(error).value_or(std::max(
                            random_() * longest_pause_, absl::Milliseconds(1)));
  vote->failure = error;
  if (IsNotYet(error)) {
    vote->failing_since.reset();
  } else if (!vote->failing_since) {
    vote->failing_since = now;
  }
}

}  // namespace lossscaler::internal
