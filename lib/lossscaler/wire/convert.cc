// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"

namespace lossscaler::wire {
namespace {

// Every enum of core that starts at its default and mirrors a proto enum whose
// value 0 is "unset" is the proto's value minus one.
template <typename ProtoEnum, typename CoreEnum>
ProtoEnum EnumToProto(CoreEnum value) {
  return static_cast<ProtoEnum>(static_cast<int>(value) + 1);
}

template <typename CoreEnum, typename ProtoEnum>
absl::Status EnumFromProto(ProtoEnum value, bool known, Reason reason,
                           std::string_view field, CoreEnum* result) {
  if (value == 0) return absl::OkStatus();  // Keeps the default.
  if (!known) {
    return MakeError(reason,
                     absl::StrCat(std::string(field), " has the unknown value ",
                                  static_cast<int>(value),
                                  "; use one that this server's proto defines"),
                     {{"field", std::string(field)},
                      {"value", absl::StrCat(static_cast<int>(value))}});
  }
  *result = static_cast<CoreEnum>(static_cast<int>(value) - 1);
  return absl::OkStatus();
}

absl::Status KnobsFromProto(const v1::DynamicScaler& proto,
                            DynamicOptions* options) {
  absl::Status status = EnumFromProto(
      proto.hysteresis_refill(),
      v1::HysteresisRefill_IsValid(proto.hysteresis_refill()),
      Reason::kInvalidScaler, "hysteresis_refill", &options->hysteresis_refill);
  status.Update(EnumFromProto(
      proto.growth_count(), v1::GrowthCount_IsValid(proto.growth_count()),
      Reason::kInvalidScaler, "growth_count", &options->growth_count));
  status.Update(EnumFromProto(
      proto.precision(), v1::StatePrecision_IsValid(proto.precision()),
      Reason::kInvalidScaler, "precision", &options->precision));
  status.Update(EnumFromProto(
      proto.finite_guard(), v1::FiniteGuard_IsValid(proto.finite_guard()),
      Reason::kInvalidScaler, "finite_guard", &options->finite_guard));
  status.Update(
      EnumFromProto(proto.unscale_arithmetic(),
                    v1::UnscaleArithmetic_IsValid(proto.unscale_arithmetic()),
                    Reason::kInvalidScaler, "unscale_arithmetic",
                    &options->unscale_arithmetic));
  status.Update(EnumFromProto(
      proto.floor_action(), v1::FloorAction_IsValid(proto.floor_action()),
      Reason::kInvalidScaler, "floor_action", &options->floor_action));
  return status;
}

absl::StatusOr<LossScaler> DynamicFromProto(const v1::DynamicScaler& proto) {
  DynamicOptions options;
  options.initial_scale = proto.scale();
  if (proto.growth_factor() != 0) options.growth_factor = proto.growth_factor();
  if (proto.backoff_factor() != 0) {
    options.backoff_factor = proto.backoff_factor();
  }
  if (proto.growth_interval() != 0) {
    options.growth_interval = proto.growth_interval();
  }
  if (proto.has_min_scale()) options.min_scale = proto.min_scale();
  if (proto.has_max_scale()) options.max_scale = proto.max_scale();
  if (proto.hysteresis() != 0) options.hysteresis = proto.hysteresis();
  options.max_consecutive_skips = proto.max_consecutive_skips();
  if (absl::Status status = KnobsFromProto(proto, &options); !status.ok()) {
    return status;
  }
  DynamicState state;
  state.scale = proto.scale();
  state.steps_since_overflow = proto.steps_since_overflow();
  state.hysteresis_left = proto.hysteresis_left() != 0 ? proto.hysteresis_left()
                                                       : options.hysteresis;
  state.consecutive_skips = proto.consecutive_skips();
  return LossScaler::Dynamic(options, state);
}

v1::Verdict ToProto(Verdict verdict) {
  // kUnset is 0 in both.
  return static_cast<v1::Verdict>(static_cast<int>(verdict));
}

absl::StatusOr<Verdict> VerdictFromProto(v1::Verdict verdict) {
  if (!v1::Verdict_IsValid(verdict)) {
    return MakeError(Reason::kInvalidField,
                     absl::StrCat("verdict has the unknown value ",
                                  static_cast<int>(verdict),
                                  "; use FINITE, OVERFLOW, ABSTAIN or SKIP"),
                     {{"field", "verdict"},
                      {"value", absl::StrCat(static_cast<int>(verdict))}});
  }
  return static_cast<Verdict>(static_cast<int>(verdict));
}

void ToProto(const Vote& vote, v1::Vote* proto) {
  proto->set_verdict(ToProto(vote.verdict));
  for (const std::string& id : vote.stream_ids) proto->add_stream_ids(id);
  if (vote.scale_used) proto->set_scale_used(*vote.scale_used);
  if (vote.base) proto->set_base(*vote.base);
  if (vote.iteration) proto->set_iteration(*vote.iteration);
  if (vote.sum_of_squares) proto->set_sum_of_squares(*vote.sum_of_squares);
  proto->set_request_id(vote.request_id);
  proto->set_resolved(ToProto(vote.resolved));
}

absl::StatusOr<Vote> VoteFromProto(const v1::Vote& proto) {
  Vote vote;
  absl::StatusOr<Verdict> verdict = VerdictFromProto(proto.verdict());
  if (!verdict.ok()) return verdict.status();
  absl::StatusOr<Verdict> resolved = VerdictFromProto(proto.resolved());
  if (!resolved.ok()) return resolved.status();
  vote.verdict = *verdict;
  vote.resolved = *resolved;
  vote.stream_ids.assign(proto.stream_ids().begin(), proto.stream_ids().end());
  if (proto.has_scale_used()) vote.scale_used = proto.scale_used();
  if (proto.has_base()) vote.base = proto.base();
  if (proto.has_iteration()) vote.iteration = proto.iteration();
  if (proto.has_sum_of_squares()) vote.sum_of_squares = proto.sum_of_squares();
  vote.request_id = proto.request_id();
  return vote;
}

std::uint64_t CountFromProto(std::int64_t count) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, count));
}

}  // namespace

void ToProto(const LossScaler& scaler, v1::LossScaler* proto) {
  proto->Clear();
  if (scaler.is_none()) {
    proto->mutable_none();
    return;
  }
  if (scaler.is_static()) {
    proto->mutable_static_()->set_scale(scaler.scale());
    return;
  }
  const DynamicOptions options = scaler.dynamic_options();
  const DynamicState& state = scaler.dynamic_state();
  v1::DynamicScaler* dynamic = proto->mutable_dynamic();
  dynamic->set_scale(state.scale);
  dynamic->set_growth_factor(options.growth_factor);
  dynamic->set_backoff_factor(options.backoff_factor);
  dynamic->set_growth_interval(options.growth_interval);
  dynamic->set_steps_since_overflow(state.steps_since_overflow);
  if (options.min_scale) dynamic->set_min_scale(*options.min_scale);
  if (options.max_scale) dynamic->set_max_scale(*options.max_scale);
  dynamic->set_hysteresis(options.hysteresis);
  dynamic->set_hysteresis_refill(
      EnumToProto<v1::HysteresisRefill>(options.hysteresis_refill));
  dynamic->set_growth_count(EnumToProto<v1::GrowthCount>(options.growth_count));
  dynamic->set_precision(EnumToProto<v1::StatePrecision>(options.precision));
  dynamic->set_finite_guard(EnumToProto<v1::FiniteGuard>(options.finite_guard));
  dynamic->set_unscale_arithmetic(
      EnumToProto<v1::UnscaleArithmetic>(options.unscale_arithmetic));
  dynamic->set_floor_action(EnumToProto<v1::FloorAction>(options.floor_action));
  dynamic->set_max_consecutive_skips(options.max_consecutive_skips);
  dynamic->set_hysteresis_left(state.hysteresis_left);
  dynamic->set_consecutive_skips(state.consecutive_skips);
}

absl::StatusOr<LossScaler> LossScalerFromProto(const v1::LossScaler& proto) {
  switch (proto.kind_case()) {
    case v1::LossScaler::kNone:
      return LossScaler::None();
    case v1::LossScaler::kStatic:
      return LossScaler::Static(proto.static_().scale());
    case v1::LossScaler::kDynamic:
      return DynamicFromProto(proto.dynamic());
    case v1::LossScaler::KIND_NOT_SET:
      break;
  }
  return MakeError(Reason::kInvalidScaler,
                   "the scaler has no kind; set none, static or dynamic",
                   {{"field", "scaler"}});
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
  return decision;
}

void ToProto(const Current& current, v1::Current* proto) {
  proto->set_step(current.step);
  proto->set_scale(current.scale);
  proto->set_base(current.base);
  proto->set_epoch(current.epoch);
}

Current CurrentFromProto(const v1::Current& proto) {
  return {.step = proto.step(),
          .scale = proto.scale(),
          .base = proto.base(),
          .epoch = proto.epoch()};
}

void VoteToRequest(const Vote& vote, v1::UpdateRequest* request) {
  request->set_verdict(ToProto(vote.verdict));
  for (const std::string& id : vote.stream_ids) request->add_stream_ids(id);
  if (vote.scale_used) request->set_scale_used(*vote.scale_used);
  if (vote.base) {
    request->mutable_base()->set_step(*vote.base);
    request->mutable_base()->set_session_uid(vote.base_session_uid);
  }
  if (vote.iteration) request->set_iteration(*vote.iteration);
  if (vote.sum_of_squares) request->set_sum_of_squares(*vote.sum_of_squares);
  request->set_request_id(vote.request_id);
}

absl::StatusOr<Vote> VoteFromRequest(const v1::UpdateRequest& request) {
  Vote vote;
  absl::StatusOr<Verdict> verdict = VerdictFromProto(request.verdict());
  if (!verdict.ok()) return verdict.status();
  vote.verdict = *verdict;
  for (const std::string& id : request.stream_ids()) {
    if (absl::Status status = ValidateId("stream_ids", id); !status.ok()) {
      return status;
    }
  }
  vote.stream_ids.assign(request.stream_ids().begin(),
                         request.stream_ids().end());
  if (request.has_scale_used()) {
    if (!std::isfinite(request.scale_used())) {
      return MakeError(
          Reason::kInvalidField,
          absl::StrCat("scale_used is ", request.scale_used(),
                       "; name the finite scale that the "
                       "gradients were made with, or leave it out"),
          {{"field", "scale_used"},
           {"value", absl::StrCat(request.scale_used())}});
    }
    vote.scale_used = request.scale_used();
  }
  if (request.has_base()) {
    if (!request.base().session_uid().empty()) {
      if (absl::Status status =
              ValidateId("base.session_uid", request.base().session_uid());
          !status.ok()) {
        return status;
      }
    }
    vote.base = request.base().step();
    vote.base_session_uid = request.base().session_uid();
  }
  if (request.has_iteration()) vote.iteration = request.iteration();
  if (request.has_sum_of_squares()) {
    const double sum = request.sum_of_squares();
    if (!std::isfinite(sum) || sum < 0) {
      return MakeError(
          Reason::kInvalidField,
          absl::StrCat("sum_of_squares is ", sum,
                       "; name the sum over the finite gradients, "
                       "or leave it out"),
          {{"field", "sum_of_squares"}, {"value", absl::StrCat(sum)}});
    }
    vote.sum_of_squares = sum;
  }
  vote.request_id = request.request_id();
  return vote;
}

v1::ElementType ToProto(ElementType type) {
  return EnumToProto<v1::ElementType>(type);
}

absl::StatusOr<ElementType> ElementTypeFromProto(v1::ElementType type,
                                                 std::string_view field) {
  if (type == 0 || !v1::ElementType_IsValid(type)) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat(std::string(field), " is ",
                     type == 0 ? std::string("not set")
                               : absl::StrCat("the unknown value ",
                                              static_cast<int>(type)),
                     "; use FLOAT32, FLOAT16, BFLOAT16 or FLOAT64"),
        {{"field", std::string(field)},
         {"value", absl::StrCat(static_cast<int>(type))}});
  }
  return static_cast<ElementType>(static_cast<int>(type) - 1);
}

void ToProto(const UnscaleVerdict& verdict, bool statistics,
             v1::ChunkVerdict* proto) {
  proto->set_overflow(verdict.overflow());
  proto->set_nan_count(static_cast<std::int64_t>(verdict.nan_count));
  proto->set_positive_infinity_count(
      static_cast<std::int64_t>(verdict.positive_infinity_count));
  proto->set_negative_infinity_count(
      static_cast<std::int64_t>(verdict.negative_infinity_count));
  if (verdict.first_bad_index) {
    proto->set_first_bad_index(
        static_cast<std::int64_t>(*verdict.first_bad_index));
  }
  if (statistics) {
    proto->set_sum_of_squares(verdict.sum_of_squares);
    proto->set_absolute_maximum(verdict.absolute_maximum);
  }
  proto->set_flushed_to_zero(
      static_cast<std::int64_t>(verdict.flushed_to_zero));
}

UnscaleVerdict VerdictFromProto(const v1::ChunkVerdict& proto,
                                std::uint64_t element_count) {
  UnscaleVerdict verdict;
  verdict.element_count = element_count;
  verdict.nan_count = CountFromProto(proto.nan_count());
  verdict.positive_infinity_count =
      CountFromProto(proto.positive_infinity_count());
  verdict.negative_infinity_count =
      CountFromProto(proto.negative_infinity_count());
  verdict.flushed_to_zero = CountFromProto(proto.flushed_to_zero());
  // A peer that does not count may still have found something.
  if (proto.overflow() && !verdict.overflow()) verdict.nan_count = 1;
  if (proto.has_first_bad_index()) {
    verdict.first_bad_index =
        static_cast<std::uint64_t>(proto.first_bad_index());
  }
  verdict.sum_of_squares = proto.sum_of_squares();
  verdict.absolute_maximum = proto.absolute_maximum();
  return verdict;
}

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const std::int64_t seconds = absl::ToUnixSeconds(time);
  proto.set_seconds(seconds);
  proto.set_nanos(static_cast<int>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return proto;
}

absl::Time TimeFromProto(const google::protobuf::Timestamp& proto) {
  return absl::FromUnixSeconds(proto.seconds()) +
         absl::Nanoseconds(proto.nanos());
}

}  // namespace lossscaler::wire
