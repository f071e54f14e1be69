// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/retry_loop.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// What the last pause leaves of the budget for one more attempt: a tenth, and
// no more than this.
constexpr absl::Duration kLongestLastAttempt = absl::Milliseconds(500);

std::string CodeText(const absl::Status& status) {
  return absl::StatusCodeToString(status.code());
}

std::string AttemptsText(int attempts) {
  return absl::StrCat(attempts, attempts == 1 ? " attempt" : " attempts");
}

}  // namespace

bool IsRetryable(const absl::Status& status, Idempotency idempotency) {
  if (status.code() == absl::StatusCode::kUnavailable) return true;
  if (RetryDelayOf(status)) return true;
  if (idempotency != Idempotency::kIdempotent) return false;
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return true;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled:
      return ReasonNameOf(status).empty();
    default:
      return false;
  }
}

RetryLoop::RetryLoop(std::string_view method, const ClientOptions& options,
                     Clock* clock, Random random)
    : method_(method),
      options_(options),
      clock_(clock),
      random_(std::move(random)),
      backoff_(options.initial_backoff) {}

absl::Duration RetryLoop::AttemptTimeout() const {
  // The first attempt is made whatever the budget, which only starts with a
  // failure; 0 means "do not retry".
  if (!first_failure_ && options_.unavailable_budget > absl::ZeroDuration()) {
    return std::min(options_.unary_deadline, options_.unavailable_budget);
  }
  return Within(options_.unary_deadline);
}

absl::Duration RetryLoop::Within(absl::Duration longest) const {
  if (!first_failure_) return longest;
  return std::min(
      longest, *first_failure_ + options_.unavailable_budget - clock_->Now());
}

absl::Status RetryLoop::WaitAfter(const absl::Status& error,
                                  Idempotency idempotency) {
  if (IsRetryable(error, idempotency)) return WaitAfterRetryable(error);
  ++attempts_;
  return Stop(error, IsRetryable(error, Idempotency::kIdempotent)
                         ? "the call is not idempotent"
                         : "the error is permanent");
}

absl::Status RetryLoop::WaitAfterRetryable(const absl::Status& error) {
  ++attempts_;
  if (error.code() != absl::StatusCode::kDeadlineExceeded) {
    telling_error_ = error;
  }
  absl::Time now = clock_->Now();
  if (!first_failure_) {
    first_failure_ = now;
    next_report_ = now + options_.wait_report_interval;
  }
  const absl::Time end = *first_failure_ + options_.unavailable_budget;
  const absl::Time last_attempt =
      end - std::min(options_.unavailable_budget / 10, kLongestLastAttempt);
  // What the server asks for is waited for whole, or not at all.
  const absl::Time asked =
      now + RetryDelayOf(error).value_or(absl::ZeroDuration());
  if (now >= last_attempt || asked >= end) return BudgetSpent(error);
  // Full jitter: a crowd that lost its server together does not come back
  // together.
  const absl::Time resume =
      std::max(std::min(now + random_() * backoff_, last_attempt), asked);
  backoff_ =
      std::min(backoff_ * options_.backoff_multiplier, options_.max_backoff);
  for (;;) {
    if (now >= next_report_) Report(now, error);
    if (now >= resume) return absl::OkStatus();
    clock_->Sleep(std::min(resume, next_report_) - now);
    now = clock_->Now();
  }
}

absl::Status RetryLoop::Stop(const absl::Status& error,
                             std::string_view why) const {
  return MakeErrorFromParts(
      error.code(),
      absl::StrCat(method_, " failed after ", AttemptsText(attempts_), " (",
                   std::string(why), "): ", std::string(error.message())),
      ReasonNameOf(error), Metadata(error), RetryDelayOf(error));
}

ErrorMetadata RetryLoop::Metadata(const absl::Status& error) const {
  const auto known = MetadataOf(error);
  ErrorMetadata metadata(known.begin(), known.end());
  metadata.emplace_back("method", method_);
  metadata.emplace_back("attempts", absl::StrCat(attempts_));
  return metadata;
}

absl::Status RetryLoop::BudgetSpent(const absl::Status& error) const {
  const std::string budget = absl::FormatDuration(options_.unavailable_budget);
  ErrorMetadata metadata = Metadata(error);
  metadata.emplace_back("unavailable_budget", budget);
  metadata.emplace_back("last_code", CodeText(error));
  metadata.emplace_back("last_reason", ReasonNameOf(error));
  std::string before;
  if (!telling_error_.ok() && telling_error_ != error) {
    metadata.emplace_back("code_before", CodeText(telling_error_));
    before = absl::StrCat("; before it: ", CodeText(telling_error_), ": ",
                          std::string(telling_error_.message()));
  }
  return MakeError(
      Reason::kUnavailableBudgetSpent,
      absl::StrCat(
          method_, " made no progress within unavailable_budget (", budget,
          "), after ", AttemptsText(attempts_),
          " in all; what it asked for may or may not have been done: call "
          "again, or end the run. Last error: ",
          CodeText(error), ": ", std::string(error.message()), before),
      metadata);
}

void RetryLoop::Report(absl::Time now, const absl::Status& error) {
  // Counted from now: a report that took long does not bring on the next.
  next_report_ = now + options_.wait_report_interval;
  if (!options_.on_wait) return;
  const absl::Duration waited = now - *first_failure_;
  options_.on_wait({.method = method_,
                    .waited = waited,
                    .budget_left = options_.unavailable_budget - waited,
                    .last_error = error});
}

void RetryLoop::NoteProgress() {
  first_failure_.reset();
  telling_error_ = absl::OkStatus();
  next_report_ = absl::InfiniteFuture();
  backoff_ = options_.initial_backoff;
}

}  // namespace lossscaler::internal
