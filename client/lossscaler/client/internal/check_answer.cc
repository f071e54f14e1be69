// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/check_answer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler::internal {
namespace {

absl::Status Malformed(std::int64_t step, const std::string& what,
                       const std::string& got, const std::string& expected) {
  return MakeError(
      Reason::kMalformedAnswer,
      absl::StrCat("the server's decision of step ", step,
                   " cannot be used: its ", what, " is ", got, " and not ",
                   expected, "; check that its version fits this client"),
      {{"step", absl::StrCat(step)}, {"got", got}, {"expected", expected}});
}

// An empty uid is that of the session itself.
Base BaseOf(std::string_view session_uid, const std::string& base_session_uid,
            std::int64_t step) {
  return {.session_uid = base_session_uid.empty() ? std::string(session_uid)
                                                  : base_session_uid,
          .step = step};
}

std::string BaseText(const Base& base) {
  return absl::StrCat(base.step, " of session ", Quoted(base.session_uid));
}

}  // namespace

absl::Status CheckAnswer(const Decision& decision, std::string_view session_uid,
                         std::int64_t step, const Vote& vote) {
  if (decision.step != step) {
    return Malformed(step, "number", absl::StrCat(decision.step),
                     absl::StrCat(step));
  }
  if (!decision.apply()) return absl::OkStatus();
  // With PART_POLICY_EACH the finite parts of such a vote apply.
  const bool in_part = vote.verdict == Verdict::kOverflow &&
                       decision.reason == DecisionReason::kPartsOverflow;
  if (vote.verdict == Verdict::kSkip ||
      (vote.verdict == Verdict::kOverflow && !in_part)) {
    return Malformed(step, "outcome", "APPLY",
                     absl::StrCat("a skip, for which this worker voted (",
                                  std::string(VerdictName(vote.verdict)), ")"));
  }
  if (vote.scale_used && decision.scale_before != *vote.scale_used) {
    return Malformed(step, "scale_before", NumberText(decision.scale_before),
                     NumberText(*vote.scale_used));
  }
  const Base built_on = BaseOf(session_uid, decision.base_before_session_uid,
                               decision.base_before);
  if (!vote.base) {
    return Malformed(step, "base_before", BaseText(built_on), "named");
  }
  const Base voted = BaseOf(session_uid, vote.base_session_uid, *vote.base);
  if (built_on != voted) {
    return Malformed(step, "base_before", BaseText(built_on), BaseText(voted));
  }
  return absl::OkStatus();
}

}  // namespace lossscaler::internal
