// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/decision_log.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "store/journal.h"

namespace lossscaler::server {

void DecisionLog::Assign(const std::vector<Decision>& recent) {
  MutexLock lock(&mutex_);
  recent_.assign(recent.begin(), recent.end());
}

void DecisionLog::Append(const Decision& decision) {
  MutexLock lock(&mutex_);
  recent_.push_back(decision);
  if (recent_.size() > kDecisionsInMemory) recent_.pop_front();
}

std::optional<Decision> DecisionLog::Last() const {
  MutexLock lock(&mutex_);
  if (recent_.empty()) return std::nullopt;
  return recent_.back();
}

absl::StatusOr<Decision> DecisionLog::FindStep(const SessionState& state,
                                               std::int64_t step) const {
  {
    MutexLock lock(&mutex_);
    const auto kept =
        std::lower_bound(recent_.begin(), recent_.end(), step,
                         [](const Decision& decision, std::int64_t wanted) {
                           return decision.step < wanted;
                         });
    if (kept != recent_.end() && kept->step == step) return *kept;
  }
  absl::StatusOr<std::optional<Decision>> found =
      store_->FindDecision(state.uid, step);
  if (!found.ok()) return CouldNotRead(found.status());
  if (!*found) {
    const absl::StatusOr<std::int64_t> oldest = FirstKept(state);
    if (!oldest.ok()) return oldest.status();
    return MakeError(
        Reason::kStepForgotten,
        absl::StrCat("the decision of step ", step,
                     " is not kept; the oldest one is that of "
                     "step ",
                     *oldest, ", the next one that of step ", state.step),
        {{"step", absl::StrCat(step)},
         {"oldest_step", absl::StrCat(*oldest)},
         {"expected_step", absl::StrCat(state.step)}});
  }
  return **std::move(found);
}

absl::StatusOr<std::optional<Decision>> DecisionLog::FindNext(
    const SessionState& state, std::int64_t step) const {
  absl::StatusOr<Decision> found = FindStep(state, step);
  if (ReasonOf(found.status()) != Reason::kStepForgotten) return found;
  // The journal drops the oldest first: it has never had this one if it still
  // has the one before.
  if (const auto before = FindStep(state, step - 1); !before.ok()) {
    return found.status();
  }
  absl::StatusOr<std::vector<Decision>> later =
      store_->ReadDecisions(state.uid, step, 1);
  if (!later.ok()) return CouldNotRead(later.status());
  // What is written and has not been answered yet is as if it were not there.
  if (later->empty() || later->front().step >= state.step) return std::nullopt;
  return std::move(later->front());
}

absl::StatusOr<std::int64_t> DecisionLog::FirstKept(
    const SessionState& state) const {
  const absl::StatusOr<std::vector<Decision>> oldest =
      store_->ReadDecisions(state.uid, 1, 1);
  if (!oldest.ok()) return CouldNotRead(oldest.status());
  if (oldest->empty()) return state.step;
  return std::min(oldest->front().step, state.step);
}

absl::StatusOr<std::vector<Decision>> DecisionLog::List(
    const SessionState& state, const DecisionQuery& query) const {
  // Not what is written and has not been answered yet.
  const std::int64_t before =
      std::min(query.before_step.value_or(state.step), state.step);
  if (!query.step) {
    absl::StatusOr<std::vector<Decision>> page =
        query.iteration ? store_->ListDecisionsByIteration(
                              state.uid, *query.iteration, before, query.limit)
                        : store_->ListDecisions(state.uid, before, query.limit);
    if (!page.ok()) return CouldNotRead(page.status());
    return page;
  }
  std::vector<Decision> found;
  if (*query.step >= before) return found;
  absl::StatusOr<Decision> decision = FindStep(state, *query.step);
  if (ReasonOf(decision.status()) == Reason::kStepForgotten) return found;
  if (!decision.ok()) return decision.status();
  if (!query.iteration || NamesIteration(*decision, *query.iteration)) {
    found.push_back(*std::move(decision));
  }
  return found;
}

absl::StatusOr<std::optional<Decision>> DecisionLog::FindRequest(
    std::string_view uid, std::string_view request_id) const {
  if (request_id.empty()) return std::nullopt;
  {
    MutexLock lock(&mutex_);
    // From the latest on, as the store does.
    for (auto it = recent_.rbegin(); it != recent_.rend(); ++it) {
      if (RequestIdOf(*it) == request_id) return *it;
    }
    // Everything the session ever decided is in memory.
    if (recent_.size() < kDecisionsInMemory) return std::nullopt;
  }
  absl::StatusOr<std::optional<Decision>> found =
      store_->FindDecisionByRequest(uid, request_id);
  if (!found.ok()) return CouldNotRead(found.status());
  return found;
}

absl::StatusOr<std::optional<Decision>> DecisionLog::FindRestore(
    std::string_view uid, std::string_view request_id) const {
  absl::StatusOr<std::optional<Decision>> made = FindRequest(uid, request_id);
  if (!made.ok() || !*made || (*made)->request_id == request_id) return made;
  return MakeError(Reason::kInvalidField,
                   absl::StrCat("request_id ", Quoted(request_id),
                                " is that of the vote on step ", (*made)->step,
                                "; a restore needs an id of its own"),
                   {{"field", "request_id"},
                    {"value", Quoted(request_id)},
                    {"step", absl::StrCat((*made)->step)}});
}

absl::Status DecisionLog::CouldNotRead(const absl::Status& status) const {
  return MakeRetryableError(
      Reason::kStoreUnavailable,
      absl::StrCat(
          "the journal could not be read: ", std::string(status.message()),
          "; nothing was decided, call again"),
      retry_delay_, {{"cause", std::string(status.message())}});
}

}  // namespace lossscaler::server
