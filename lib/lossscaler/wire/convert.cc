// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/convert.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/enum_convert.h"

namespace lossscaler::wire {
namespace {

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

void ToProto(const Current& current, v1::Current* proto) {
  proto->set_step(current.step);
  proto->set_scale(current.scale);
  proto->set_base(current.base);
  proto->set_epoch(current.epoch);
  proto->set_base_session_uid(current.base_session_uid);
}

Current CurrentFromProto(const v1::Current& proto) {
  return {.step = proto.step(),
          .scale = proto.scale(),
          .base = proto.base(),
          .base_session_uid = proto.base_session_uid(),
          .epoch = proto.epoch()};
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

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  absl::Duration rest;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
  return proto;
}

absl::Duration DurationFromProto(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

}  // namespace lossscaler::wire
