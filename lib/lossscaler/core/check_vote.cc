// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/check_vote.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/wire_limits.h"

namespace lossscaler {
namespace {

absl::Status BadField(std::string_view field, const std::string& value,
                      std::string_view expected) {
  return MakeError(Reason::kInvalidField,
                   absl::StrCat(std::string(field), " is ", value, "; ",
                                std::string(expected)),
                   {{"field", std::string(field)}, {"value", value}});
}

absl::Status BadStreamIds(const Vote& vote, std::string_view expected) {
  return BadField("stream_ids",
                  absl::StrCat("a list of ", vote.stream_ids.size()), expected);
}

absl::Status CheckStreamIds(const Vote& vote) {
  if (vote.verdict != Verdict::kUnset && !vote.stream_ids.empty()) {
    return BadStreamIds(vote,
                        "streams are listed only in a vote without a verdict");
  }
  if (vote.stream_ids.size() > kMaxStreamsPerStep) {
    return BadStreamIds(vote, absl::StrCat("a step has at most ",
                                           kMaxStreamsPerStep, " streams"));
  }
  std::set<std::string_view> seen;
  for (const std::string& id : vote.stream_ids) {
    if (seen.insert(id).second) continue;
    return MakeError(Reason::kInvalidField,
                     absl::StrCat("stream_ids lists ", Quoted(id),
                                  " twice; list every stream once"),
                     {{"field", "stream_ids"}, {"value", Quoted(id)}});
  }
  return absl::OkStatus();
}

absl::Status CheckPart(const PartVote& part) {
  if (absl::Status status = ValidateId("parts.name", part.name); !status.ok()) {
    return status;
  }
  if (part.verdict == Verdict::kFinite || part.verdict == Verdict::kOverflow) {
    return absl::OkStatus();
  }
  return BadField("parts.verdict", std::string(VerdictName(part.verdict)),
                  "a part is FINITE or OVERFLOW");
}

absl::Status CheckParts(const Vote& vote) {
  if (vote.parts.empty()) return absl::OkStatus();
  if (vote.parts.size() > kMaxParts) {
    return MakeError(
        Reason::kTooManyParts,
        absl::StrCat("the vote names ", vote.parts.size(),
                     " parts, the limit is ", kMaxParts, "; name fewer"),
        {{"parts", absl::StrCat(vote.parts.size())},
         {"limit", absl::StrCat(kMaxParts)}});
  }
  std::set<std::string_view> seen;
  Verdict verdict = Verdict::kFinite;
  for (const PartVote& part : vote.parts) {
    if (absl::Status status = CheckPart(part); !status.ok()) return status;
    if (!seen.insert(part.name).second) {
      return BadField("parts.name", Quoted(part.name),
                      "it is listed already; list every part once");
    }
    if (part.verdict == Verdict::kOverflow) verdict = Verdict::kOverflow;
  }
  if (vote.verdict == verdict) return absl::OkStatus();
  return BadField("verdict", std::string(VerdictName(vote.verdict)),
                  absl::StrCat("the verdicts of its parts come to ",
                               std::string(VerdictName(verdict)),
                               "; say that, or list no parts"));
}

// At least what a vote takes on the wire: its numbers, a name of 64 bytes, and
// for every text its length.
std::size_t WireBytes(const Vote& vote) {
  constexpr std::size_t kNumbersAndName = 128;
  constexpr std::size_t kStream = 2;
  constexpr std::size_t kPart = 16;
  std::size_t bytes =
      kNumbersAndName + vote.request_id.size() + vote.base_session_uid.size();
  for (const std::string& id : vote.stream_ids) bytes += kStream + id.size();
  for (const PartVote& part : vote.parts) bytes += kPart + part.name.size();
  return bytes;
}

absl::Status MissingField(std::string_view field, std::string_view what) {
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " is not set; a vote in a group names ",
                   std::string(what)),
      {{"field", std::string(field)}});
}

}  // namespace

absl::Status CheckVote(std::optional<std::int64_t> step, const Vote& vote) {
  if (absl::Status status = ValidateRequestId(vote.request_id); !status.ok()) {
    return status;
  }
  if (!step && vote.request_id.empty()) {
    return MakeError(
        Reason::kRequestIdRequired,
        "the vote names neither a step nor a request_id, so that a repeated "
        "call could decide two steps; set one of them");
  }
  if (absl::Status status = CheckStreamIds(vote); !status.ok()) return status;
  return CheckParts(vote);
}

absl::Status CheckGroupVote(std::optional<std::int64_t> step,
                            const Vote& vote) {
  if (!step) {
    return MakeError(
        Reason::kStepRequired,
        "the vote names no step; in a group the session may have moved on "
        "meanwhile: name the step that its gradients were computed for");
  }
  if (absl::Status status = CheckVote(step, vote); !status.ok()) return status;
  if (vote.verdict == Verdict::kAbstain) {
    if (!vote.iteration) return absl::OkStatus();
    return BadField("iteration", absl::StrCat(*vote.iteration),
                    "who abstains names none");
  }
  if (!vote.base) return MissingField("base", "what its parameters contain");
  if (*vote.base != 0 && vote.base_session_uid.empty()) {
    return MissingField("base_session_uid", "whose step its base is");
  }
  if (!vote.scale_used && vote.verdict != Verdict::kSkip) {
    return MissingField("scale_used",
                        "the scale that its gradients were made with");
  }
  return CheckIteration(vote.iteration);
}

absl::Status CheckVoteSize(const Vote& vote, std::int64_t max_workers) {
  // Room for the session, and for each member beside its vote.
  constexpr std::size_t kSession = std::size_t{64} << 10;
  constexpr std::size_t kMember = 128;
  constexpr std::size_t kListings = 3;
  const std::size_t limit =
      ((kMaxMessageBytes - kSession) / static_cast<std::size_t>(max_workers) -
       kMember) /
      kListings;
  const std::size_t bytes = WireBytes(vote);
  if (bytes <= limit) return absl::OkStatus();
  return BadField(
      "vote", absl::StrCat(bytes, " bytes"),
      absl::StrCat(
          "in a session of up to ", max_workers, " workers it may take ", limit,
          ": list fewer streams or parts, or give them shorter names"));
}

absl::Status CheckIteration(std::optional<std::int64_t> iteration) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max() - 1;
  if (!iteration || (*iteration >= 0 && *iteration <= kLast)) {
    return absl::OkStatus();
  }
  return BadField("iteration", absl::StrCat(*iteration),
                  absl::StrCat("it must be from 0 to ", kLast));
}

}  // namespace lossscaler
