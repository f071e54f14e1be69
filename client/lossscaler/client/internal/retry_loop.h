// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// When a call is tried again, how long it waits before, and when it gives up.
//
// One RetryLoop lives as long as one call of the user, over all its attempts:
//
//   RetryLoop loop("Update", options, clock, random);
//   for (;;) {
//     absl::Status status = Attempt(loop.AttemptTimeout());
//     if (status.ok()) return ...;
//     status = loop.WaitAfter(status, Idempotency::kIdempotent);
//     if (!status.ok()) return status;
//   }
//
// Thread safety: one thread.

#ifndef LOSSSCALER_CLIENT_INTERNAL_RETRY_LOOP_H_
#define LOSSSCALER_CLIENT_INTERNAL_RETRY_LOOP_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/client/options.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {

enum class Idempotency { kIdempotent, kNonIdempotent };

// Whether trying again may cure `status`: UNAVAILABLE and whatever carries a
// retry delay; and, of a call that may have been carried out without harm,
// DEADLINE_EXCEEDED and what a transport does to a call: INTERNAL, UNKNOWN or
// CANCELLED without a reason of ours. (No caller cancels in this library.)
bool IsRetryable(const absl::Status& status, Idempotency idempotency);

class RetryLoop {
 public:
  // Uniform in [0, 1).
  using Random = std::function<double()>;

  // `options` and `clock` outlive the loop. `method` is for texts.
  RetryLoop(std::string_view method, const ClientOptions& options, Clock* clock,
            Random random);

  // How long the next attempt may take: unary_deadline, or what is left of the
  // budget.
  absl::Duration AttemptTimeout() const;
  // How long the next stream may stand still: `longest`, or after a failure
  // what is left of the budget.
  absl::Duration Within(absl::Duration longest) const;

  // Takes the error of an attempt. OK: it has waited, try again. Otherwise the
  // error of the call: `error` with method, attempts and why it stopped added
  // to its text, or UNAVAILABLE_BUDGET_SPENT.
  absl::Status WaitAfter(const absl::Status& error, Idempotency idempotency);

  // Something was achieved: budget and backoff start anew. Attempts count on.
  void NoteProgress();

 private:
  absl::Status WaitAfterRetryable(const absl::Status& error);
  // The error of a call that is not tried again because of `why`.
  absl::Status Stop(const absl::Status& error, std::string_view why) const;
  // What `error` says, with method and attempts.
  ErrorMetadata Metadata(const absl::Status& error) const;
  absl::Status BudgetSpent(const absl::Status& error) const;
  void Report(absl::Time now, const absl::Status& error);

  const std::string method_;
  const ClientOptions& options_;
  Clock* const clock_;
  const Random random_;

  int attempts_ = 0;
  absl::Duration backoff_;
  std::optional<absl::Time> first_failure_;
  // The latest error that is more than a deadline: the last attempt, which gets
  // what is left of the budget, often hides why there is no connection.
  absl::Status telling_error_;
  absl::Time next_report_ = absl::InfiniteFuture();
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_RETRY_LOOP_H_
