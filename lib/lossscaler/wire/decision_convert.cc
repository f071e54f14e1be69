// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/decision_convert.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/enum_convert.h"

namespace lossscaler::wire {
namespace {

v1::Verdict ToProto(Verdict verdict) {
  // kUnset is 0 in both.
  return static_cast<v1::Verdict>(static_cast<int>(verdict));
}

absl::StatusOr<Verdict> VerdictFromProto(v1::Verdict verdict,
                                         std::string_view field) {
  if (!v1::Verdict_IsValid(verdict)) {
    return MakeError(Reason::kInvalidField,
                     absl::StrCat(std::string(field), " has the unknown value ",
                                  static_cast<int>(verdict),
                                  "; use FINITE, OVERFLOW, ABSTAIN or SKIP"),
                     {{"field", std::string(field)},
                      {"value", absl::StrCat(static_cast<int>(verdict))}});
  }
  return static_cast<Verdict>(static_cast<int>(verdict));
}

void ToProto(const PartVote& part, v1::PartVote* proto) {
  proto->set_name(part.name);
  proto->set_verdict(ToProto(part.verdict));
  if (part.sum_of_squares) proto->set_sum_of_squares(*part.sum_of_squares);
}

absl::StatusOr<PartVote> PartVoteFromProto(const v1::PartVote& proto) {
  PartVote part{.name = proto.name()};
  absl::StatusOr<Verdict> verdict =
      VerdictFromProto(proto.verdict(), "parts.verdict");
  if (!verdict.ok()) return verdict.status();
  part.verdict = *verdict;
  if (proto.has_sum_of_squares()) part.sum_of_squares = proto.sum_of_squares();
  return part;
}

void ToProto(const PartOutcome& part, v1::PartOutcome* proto) {
  proto->set_name(part.name);
  proto->set_apply(part.apply);
  if (part.sum_of_squares) proto->set_sum_of_squares(*part.sum_of_squares);
}

PartOutcome PartOutcomeFromProto(const v1::PartOutcome& proto) {
  PartOutcome part{.name = proto.name(), .apply = proto.apply()};
  if (proto.has_sum_of_squares()) part.sum_of_squares = proto.sum_of_squares();
  return part;
}

absl::Status CheckSumOfSquares(std::string_view field,
                               const std::optional<double>& sum) {
  if (!sum || (std::isfinite(*sum) && *sum >= 0)) return absl::OkStatus();
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " is ", *sum,
                   "; name the sum over the finite gradients, or leave it out"),
      {{"field", std::string(field)}, {"value", absl::StrCat(*sum)}});
}

// What the values of a vote that was sent must be on their own. Whether they
// fit each other is core's business.
absl::Status CheckSent(const Vote& vote) {
  for (const std::string& id : vote.stream_ids) {
    if (absl::Status status = ValidateId("stream_ids", id); !status.ok()) {
      return status;
    }
  }
  if (vote.scale_used && !std::isfinite(*vote.scale_used)) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("scale_used is ", *vote.scale_used,
                     "; name the finite scale that the gradients "
                     "were made with, or leave it out"),
        {{"field", "scale_used"}, {"value", absl::StrCat(*vote.scale_used)}});
  }
  if (!vote.base_session_uid.empty()) {
    if (absl::Status status =
            ValidateId("base.session_uid", vote.base_session_uid);
        !status.ok()) {
      return status;
    }
  }
  for (const PartVote& part : vote.parts) {
    if (absl::Status status =
            CheckSumOfSquares("parts.sum_of_squares", part.sum_of_squares);
        !status.ok()) {
      return status;
    }
  }
  return CheckSumOfSquares("sum_of_squares", vote.sum_of_squares);
}

// From v1::Vote and v1::UpdateRequest, which have most fields in common.
template <typename Message>
absl::StatusOr<Vote> CommonFromProto(const Message& proto) {
  Vote vote;
  absl::StatusOr<Verdict> verdict =
      VerdictFromProto(proto.verdict(), "verdict");
  if (!verdict.ok()) return verdict.status();
  vote.verdict = *verdict;
  vote.stream_ids.assign(proto.stream_ids().begin(), proto.stream_ids().end());
  if (proto.has_scale_used()) vote.scale_used = proto.scale_used();
  if (proto.has_iteration()) vote.iteration = proto.iteration();
  if (proto.has_sum_of_squares()) vote.sum_of_squares = proto.sum_of_squares();
  vote.request_id = proto.request_id();
  for (const v1::PartVote& part : proto.parts()) {
    absl::StatusOr<PartVote> parsed = PartVoteFromProto(part);
    if (!parsed.ok()) return parsed.status();
    vote.parts.push_back(*std::move(parsed));
  }
  return vote;
}

template <typename Message>
void CommonToProto(const Vote& vote, Message* proto) {
  proto->set_worker(vote.worker);
  proto->set_incarnation(vote.incarnation);
  proto->set_verdict(ToProto(vote.verdict));
  for (const std::string& id : vote.stream_ids) proto->add_stream_ids(id);
  if (vote.scale_used) proto->set_scale_used(*vote.scale_used);
  if (vote.iteration) proto->set_iteration(*vote.iteration);
  if (vote.sum_of_squares) proto->set_sum_of_squares(*vote.sum_of_squares);
  proto->set_request_id(vote.request_id);
  for (const PartVote& part : vote.parts) ToProto(part, proto->add_parts());
}

void GroupFieldsToProto(const Decision& decision, v1::Decision* proto) {
  proto->set_base_before_session_uid(decision.base_before_session_uid);
  proto->set_base_after_session_uid(decision.base_after_session_uid);
  proto->set_overflow(decision.overflow);
  for (const PartOutcome& part : decision.parts) {
    ToProto(part, proto->add_parts());
  }
  for (const std::string& worker : decision.lost) proto->add_lost(worker);
  for (const std::string& worker : decision.evicted) proto->add_evicted(worker);
  if (decision.next_iteration) {
    proto->set_next_iteration(*decision.next_iteration);
  }
  if (decision.sum_of_squares) {
    proto->set_sum_of_squares(*decision.sum_of_squares);
  }
}

void GroupFieldsFromProto(const v1::Decision& proto, Decision* decision) {
  decision->base_before_session_uid = proto.base_before_session_uid();
  decision->base_after_session_uid = proto.base_after_session_uid();
  decision->overflow = proto.overflow();
  for (const v1::PartOutcome& part : proto.parts()) {
    decision->parts.push_back(PartOutcomeFromProto(part));
  }
  decision->lost.assign(proto.lost().begin(), proto.lost().end());
  decision->evicted.assign(proto.evicted().begin(), proto.evicted().end());
  if (proto.has_next_iteration()) {
    decision->next_iteration = proto.next_iteration();
  }
  if (proto.has_sum_of_squares()) {
    decision->sum_of_squares = proto.sum_of_squares();
  }
}

}  // namespace

void ToProto(const Vote& vote, v1::Vote* proto) {
  proto->Clear();
  CommonToProto(vote, proto);
  if (vote.base) proto->set_base(*vote.base);
  proto->set_base_session_uid(vote.base_session_uid);
  proto->set_resolved(ToProto(vote.resolved));
}

absl::StatusOr<Vote> VoteFromProto(const v1::Vote& proto) {
  absl::StatusOr<Vote> vote = CommonFromProto(proto);
  if (!vote.ok()) return vote;
  absl::StatusOr<Verdict> resolved =
      VerdictFromProto(proto.resolved(), "resolved");
  if (!resolved.ok()) return resolved.status();
  vote->resolved = *resolved;
  vote->worker = proto.worker();
  vote->incarnation = proto.incarnation();
  if (proto.has_base()) vote->base = proto.base();
  vote->base_session_uid = proto.base_session_uid();
  return vote;
}

absl::StatusOr<Vote> SentVoteFromProto(const v1::Vote& proto) {
  absl::StatusOr<Vote> vote = CommonFromProto(proto);
  if (!vote.ok()) return vote;
  if (proto.has_base()) vote->base = proto.base();
  vote->base_session_uid = proto.base_session_uid();
  if (absl::Status status = CheckSent(*vote); !status.ok()) return status;
  return vote;
}

void VoteToRequest(const Vote& vote, v1::UpdateRequest* request) {
  CommonToProto(vote, request);
  if (vote.base) {
    request->mutable_base()->set_step(*vote.base);
    request->mutable_base()->set_session_uid(vote.base_session_uid);
  }
}

absl::StatusOr<Vote> VoteFromRequest(const v1::UpdateRequest& request) {
  absl::StatusOr<Vote> vote = CommonFromProto(request);
  if (!vote.ok()) return vote;
  if (request.has_base()) {
    vote->base = request.base().step();
    vote->base_session_uid = request.base().session_uid();
  }
  if (absl::Status status = CheckSent(*vote); !status.ok()) return status;
  return vote;
}

void ToProto(const Decision& decision, v1::Decision* proto) {
  proto->Clear();
  proto->set_step(decision.step);
  proto->set_outcome(EnumToProto<v1::Outcome>(decision.outcome));
  proto->set_reason(EnumToProto<v1::DecisionReason>(decision.reason));
  proto->set_explanation(decision.explanation);
  proto->set_scale_before(decision.scale_before);
  proto->set_scale_after(decision.scale_after);
  proto->set_base_before(decision.base_before);
  proto->set_base_after(decision.base_after);
  proto->set_epoch_after(decision.epoch_after);
  proto->set_attempted(decision.attempted);
  proto->set_applied(decision.applied);
  proto->set_skipped(decision.skipped);
  for (const Vote& vote : decision.votes) ToProto(vote, proto->add_votes());
  proto->set_saturated(decision.saturated);
  proto->set_floored(decision.floored);
  proto->set_stalled(decision.stalled);
  proto->set_request_id(decision.request_id);
  *proto->mutable_decide_time() = ToProto(decision.decide_time);
  GroupFieldsToProto(decision, proto);
}

absl::StatusOr<Decision> DecisionFromProto(const v1::Decision& proto) {
  // A decision without outcome or reason says nothing: no default fits.
  if (proto.outcome() == 0 || proto.reason() == 0 || proto.step() < 1) {
    return MakeError(Reason::kInvalidField,
                     absl::StrCat("a decision needs a step, an outcome and a "
                                  "reason; this one has step ",
                                  proto.step(), ", outcome ", proto.outcome(),
                                  " and reason ", proto.reason()),
                     {{"field", "decision"}});
  }
  Decision decision;
  absl::Status status =
      EnumFromProto(proto.outcome(), v1::Outcome_IsValid(proto.outcome()),
                    Reason::kInvalidField, "outcome", &decision.outcome);
  status.Update(
      EnumFromProto(proto.reason(), v1::DecisionReason_IsValid(proto.reason()),
                    Reason::kInvalidField, "reason", &decision.reason));
  if (!status.ok()) return status;
  decision.step = proto.step();
  decision.explanation = proto.explanation();
  decision.scale_before = proto.scale_before();
  decision.scale_after = proto.scale_after();
  decision.base_before = proto.base_before();
  decision.base_after = proto.base_after();
  decision.epoch_after = proto.epoch_after();
  decision.attempted = proto.attempted();
  decision.applied = proto.applied();
  decision.skipped = proto.skipped();
  for (const v1::Vote& vote : proto.votes()) {
    absl::StatusOr<Vote> parsed = VoteFromProto(vote);
    if (!parsed.ok()) return parsed.status();
    decision.votes.push_back(*std::move(parsed));
  }
  decision.saturated = proto.saturated();
  decision.floored = proto.floored();
  decision.stalled = proto.stalled();
  decision.request_id = proto.request_id();
  decision.decide_time = TimeFromProto(proto.decide_time());
  GroupFieldsFromProto(proto, &decision);
  return decision;
}

}  // namespace lossscaler::wire
