// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/worker_errors.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// The same error, saying what to do about it. It is not to be waited out.
absl::Status WithAdvice(const absl::Status& error, std::string_view advice) {
  const auto known = MetadataOf(error);
  return MakeErrorFromParts(
      error.code(),
      absl::StrCat(std::string(error.message()), ". ", std::string(advice)),
      ReasonNameOf(error), ErrorMetadata(known.begin(), known.end()),
      std::nullopt);
}

}  // namespace

absl::Status WorkerHasLeft() {
  return absl::CancelledError(
      "the worker has left the session; nothing is decided for it any more");
}

absl::Status MembershipEnded(const absl::Status& error) {
  const std::optional<Reason> reason = ReasonOf(error);
  if (reason == Reason::kFenced) {
    return WithAdvice(error,
                      "Apply nothing that was not decided for this worker: "
                      "keep the gradients, call Rejoin() and ask again, or end "
                      "the process");
  }
  if (reason == Reason::kWorkerHeld) {
    return WithAdvice(error,
                      "Another process has taken this worker's place: end this "
                      "one");
  }
  return error;
}

absl::Status ServerStayedAway(absl::Duration budget,
                              const absl::Status& error) {
  const std::string spent = absl::FormatDuration(budget);
  return MakeError(
      Reason::kUnavailableBudgetSpent,
      absl::StrCat("the server stayed away for unavailable_budget (", spent,
                   "); that is neither apply nor skip: keep the gradients and "
                   "ask again, or end the run. Last error: ",
                   std::string(error.message())),
      {{"unavailable_budget", spent},
       {"last_code", absl::StatusCodeToString(error.code())},
       {"last_reason", ReasonNameOf(error)}});
}

absl::Status ApplyWithheld(std::int64_t step, std::string_view worker,
                           absl::Duration lease_ttl) {
  const std::string ttl = absl::FormatDuration(lease_ttl);
  return MakeError(
      Reason::kLeaseStale,
      absl::StrCat(
          "step ", step, " applies, but worker ", Quoted(worker),
          " has had no renewal of its lease (", ttl,
          ") acknowledged for too long, and another process may have its "
          "place; that is neither apply nor skip: ask again, or call Rejoin() "
          "and ask again"),
      {{"step", absl::StrCat(step)},
       {"worker", Quoted(worker)},
       {"lease_ttl", ttl}});
}

absl::Status PresentationReplaced() {
  return absl::AbortedError(
      "a later Present() has taken this one's place; the worker goes by that "
      "one's answer");
}

}  // namespace lossscaler::internal
