// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// OpenVotes: a worker's votes without an answer.
//
// Each is sent again, unchanged, over every stream that replaces a lost one,
// and after every error that says "later"; only a decision, or an error that
// waiting does not cure, answers it.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CLIENT_INTERNAL_OPEN_VOTES_H_
#define LOSSSCALER_CLIENT_INTERNAL_OPEN_VOTES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::internal {

// A vote that was cast, and what came of it. WorkerLink's, but for what is
// const or atomic.
struct PendingVote {
  PendingVote(std::int64_t step_in, Vote vote_in,
              std::optional<std::int64_t> iteration_in)
      : step(step_in), vote(std::move(vote_in)), iteration(iteration_in) {}

  const std::int64_t step;
  const Vote vote;
  // The trainer's counter of the step, which an ABSTAIN does not name.
  const std::optional<std::int64_t> iteration;

  // Number and time of the last sending; whether the present stream has it.
  std::int64_t sequence = 0;
  absl::Time sent_at = absl::InfinitePast();
  bool sent = false;
  // If not: when it is to be sent again.
  absl::Time send_at = absl::InfinitePast();
  // Why it was not taken when it was last sent, and since when that is the
  // server's fault.
  absl::Status failure;
  std::optional<absl::Time> failing_since;

  std::optional<absl::StatusOr<Decision>> answer;
  // WorkerLink::Await() has returned the answer.
  bool heard = false;

  // The right to apply has been handed out.
  std::atomic<bool> permitted = false;
};

class OpenVotes {
 public:
  // Sends a vote on the present stream; the sequence number it has there.
  using Send = std::function<std::int64_t(const PendingVote&)>;

  // A vote that the server could not take waits for a time uniform in [0,
  // longest_pause] if the server does not say how long. `random` is uniform in
  // [0, 1). `session_uid`: of the session voted in.
  OpenVotes(std::string session_uid, absl::Duration longest_pause,
            std::function<double()> random);

  void Add(std::shared_ptr<PendingVote> vote);

  // Sends what is due; when something is due next.
  absl::Time SendDue(absl::Time now, const Send& send);
  // The stream they were sent on is gone.
  void StreamLost();
  // The session takes votes: those that it was not ready for wait no longer.
  void SessionOpened(absl::Time now);
  // The server has answered the message of this number. Answers come in order:
  // votes that it got before, and that have none, wait for their peers.
  void Answered(std::int64_t sequence);
  // The answer to the vote of this number. When that was sent; unset: no vote
  // has the number.
  std::optional<absl::Time> Answer(std::int64_t sequence,
                                   absl::StatusOr<Decision> answer,
                                   absl::Time now);

 private:
  void Take(PendingVote* vote, absl::StatusOr<Decision> answer, absl::Time now);

  const std::string session_uid_;
  const absl::Duration longest_pause_;
  const std::function<double()> random_;
  // Oldest first.
  std::vector<std::shared_ptr<PendingVote>> votes_;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_OPEN_VOTES_H_
