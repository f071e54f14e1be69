// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/stream_ledger.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {
namespace {

absl::Status VerdictLost(std::string_view stream_id, std::string_view why) {
  return MakeError(
      Reason::kVerdictLost,
      absl::StrCat("the verdict of stream ", Quoted(stream_id), " ",
                   std::string(why),
                   "; unscale these gradients again and vote anew, or vote "
                   "FINITE or OVERFLOW yourself"),
      {{"stream_id", Quoted(stream_id)}});
}

absl::Status PartLeftOut(std::string_view stream_id, std::string_view tensor,
                         std::string_view why) {
  return VerdictLost(
      stream_id,
      absl::StrCat("does not stand for all gradients: the listed streams ",
                   std::string(why), " tensor ", Quoted(tensor)));
}

std::int64_t BytesOf(const std::vector<TensorCoverage>& coverage) {
  std::int64_t bytes = 0;
  for (const TensorCoverage& tensor : coverage) {
    bytes +=
        static_cast<std::int64_t>(sizeof(TensorCoverage) + tensor.name.size() +
                                  tensor.ranges.size() * sizeof(ElementRange));
  }
  return bytes;
}

// One tensor as all listed streams together have it.
struct Whole {
  std::int64_t element_count = 0;
  std::vector<ElementRange> ranges;
};

bool CoversWhole(Whole* whole) {
  std::sort(whole->ranges.begin(), whole->ranges.end(),
            [](const ElementRange& a, const ElementRange& b) {
              return a.offset < b.offset;
            });
  std::int64_t covered = 0;
  for (const ElementRange& range : whole->ranges) {
    if (range.offset > covered) return false;
    covered = std::max(covered, range.offset + range.count);
  }
  return covered == whole->element_count;
}

}  // namespace

absl::Status StreamLedger::Open(std::string_view stream_id) {
  if (entries_.contains(stream_id)) {
    return MakeError(
        Reason::kStreamIdUsed,
        absl::StrCat("stream_id '", std::string(stream_id),
                     "' was opened before in this step; every stream, also one "
                     "that resumes another, needs an id of its own"),
        {{"stream_id", std::string(stream_id)}});
  }
  if (entries_.size() >= kMaxStreams) {
    return MakeError(
        Reason::kTooManyStreams,
        absl::StrCat("this step has had ", entries_.size(),
                     " streams, the "
                     "limit is ",
                     kMaxStreams, "; send more tensors in one stream"),
        {{"streams", absl::StrCat(entries_.size())},
         {"limit", absl::StrCat(kMaxStreams)}});
  }
  entries_.emplace(stream_id, Entry());
  return absl::OkStatus();
}

void StreamLedger::Finish(std::string_view stream_id, bool overflow,
                          std::vector<TensorCoverage> coverage) {
  const auto found = entries_.find(stream_id);
  // Its step was decided without it.
  if (found == entries_.end() || found->second.finished) return;
  const std::int64_t bytes = BytesOf(coverage);
  if (!budget_->TryTake(bytes)) return;  // Not remembered: VERDICT_LOST.
  found->second = {.finished = true,
                   .overflow = overflow,
                   .coverage = std::move(coverage),
                   .bytes = bytes};
}

void StreamLedger::Retract(std::string_view stream_id) {
  const auto found = entries_.find(stream_id);
  if (found == entries_.end()) return;
  budget_->Return(found->second.bytes);
  found->second = Entry();
}

absl::StatusOr<Verdict> StreamLedger::Resolve(
    const std::vector<std::string>& stream_ids) const {
  if (stream_ids.empty()) {
    return MakeError(
        Reason::kNoGradientsChecked,
        absl::StrCat("the vote has no verdict and lists no stream; vote "
                     "FINITE, OVERFLOW, ABSTAIN or SKIP, or list the Unscale "
                     "streams whose findings it stands for (this step has had ",
                     entries_.size(), ")"),
        {{"streams", absl::StrCat(entries_.size())}});
  }
  bool overflow = false;
  std::map<std::string_view, Whole> tensors;
  for (const std::string& id : stream_ids) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) {
      return VerdictLost(id, "is not known in this step");
    }
    const Entry& entry = found->second;
    if (!entry.finished) return VerdictLost(id, "was never completed or kept");
    overflow = overflow || entry.overflow;
    for (const TensorCoverage& tensor : entry.coverage) {
      Whole& whole =
          tensors.emplace(tensor.name, Whole{tensor.element_count, {}})
              .first->second;
      if (whole.element_count != tensor.element_count) {
        return PartLeftOut(id, tensor.name, "disagree about the size of");
      }
      whole.ranges.insert(whole.ranges.end(), tensor.ranges.begin(),
                          tensor.ranges.end());
    }
  }
  for (auto& [name, whole] : tensors) {
    if (CoversWhole(&whole)) continue;
    return PartLeftOut(stream_ids.front(), name, "leave out a part of");
  }
  return overflow ? Verdict::kOverflow : Verdict::kFinite;
}

void StreamLedger::Clear() {
  for (const auto& [id, entry] : entries_) budget_->Return(entry.bytes);
  entries_.clear();
}

}  // namespace lossscaler::server
