// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/ending_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {
namespace {

constexpr std::size_t kNamesShown = 8;

std::vector<std::string> VotersOf(const Decision& decision, Verdict verdict) {
  std::vector<std::string> names;
  for (const Vote& vote : decision.votes) {
    if (vote.resolved == verdict) names.push_back(vote.worker);
  }
  return names;
}

std::string Iterations(const Decision& decision) {
  std::vector<std::string> named;
  for (const Vote& vote : decision.votes) {
    if (!vote.iteration || named.size() == kNamesShown) continue;
    named.push_back(absl::StrCat(Quoted(vote.worker), " at ", *vote.iteration));
  }
  std::string text;
  for (const std::string& name : named) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name);
  }
  return text;
}

std::string RefusedParts(const Decision& decision) {
  std::vector<std::string> names;
  for (const PartOutcome& part : decision.parts) {
    if (!part.apply) names.push_back(part.name);
  }
  return NameList(names);
}

std::string Cause(const Decision& decision) {
  switch (decision.reason) {
    case DecisionReason::kFinite:
      return "applied, every gradient is finite";
    case DecisionReason::kOverflow:
      return absl::StrCat("skipped because of an overflow found by ",
                          NameList(VotersOf(decision, Verdict::kOverflow)));
    case DecisionReason::kPartsOverflow:
      return absl::StrCat("applied but for the parts ", RefusedParts(decision),
                          ", where an overflow was found by ",
                          NameList(VotersOf(decision, Verdict::kOverflow)));
    case DecisionReason::kVotedSkip:
      return absl::StrCat("skipped, without penalty, at the request of ",
                          NameList(VotersOf(decision, Verdict::kSkip)));
    case DecisionReason::kAllAbstained:
      return "skipped, without penalty, because nobody had data";
    case DecisionReason::kIterationMismatch:
      return absl::StrCat(
          "skipped, without penalty, because the workers are at different "
          "iterations (",
          Iterations(decision), "); all go on at ",
          decision.next_iteration.value_or(0));
    case DecisionReason::kWorkerLost:
      return absl::StrCat(decision.outcome == Outcome::kAborted
                              ? "aborted"
                              : "skipped, without penalty,",
                          " because ", NameList(decision.lost),
                          " was lost before it had voted");
    case DecisionReason::kTimeout:
      return absl::StrCat(
          decision.outcome == Outcome::kAborted ? "aborted"
                                                : "skipped, without penalty,",
          " because not all had voted in time",
          decision.evicted.empty()
              ? ""
              : absl::StrCat("; ", NameList(decision.evicted),
                             " no longer belongs to the session"));
    case DecisionReason::kNoWorkers:
      return "aborted because no worker is left";
    case DecisionReason::kNewAttempt:
      return "aborted because a new attempt of the job has started";
    case DecisionReason::kRestored:
      return "ended by a restore";
  }
  return "";
}

}  // namespace

std::string NameList(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Quoted(names[i]));
  }
  if (names.size() > shown) {
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  }
  return text;
}

std::string ExplainEnding(const Decision& decision,
                          const ScalerUpdate& update) {
  return absl::StrCat(Cause(decision), "; ", ExplainScale(update));
}

}  // namespace lossscaler
