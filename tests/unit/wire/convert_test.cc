// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/convert.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/every_field.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler::wire {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Pair;

// ---- Enumerators --------------------------------------------------------
//
// The compiler refuses the switches below once core has an enumerator that
// they lack; the loops fail once the proto has one.

constexpr int kNoMirror = -1;

int Mirror(HysteresisRefill value) {
  switch (value) {
    case HysteresisRefill::kOnGrowth:
      return v1::HYSTERESIS_REFILL_ON_GROWTH;
    case HysteresisRefill::kOnCleanStep:
      return v1::HYSTERESIS_REFILL_ON_CLEAN_STEP;
    case HysteresisRefill::kOnCleanStepOrBackoff:
      return v1::HYSTERESIS_REFILL_ON_CLEAN_STEP_OR_BACKOFF;
  }
  return kNoMirror;
}

int Mirror(GrowthCount value) {
  switch (value) {
    case GrowthCount::kInterval:
      return v1::GROWTH_COUNT_INTERVAL;
    case GrowthCount::kOneMoreAfterOverflow:
      return v1::GROWTH_COUNT_ONE_MORE_AFTER_OVERFLOW;
    case GrowthCount::kOneMoreAlways:
      return v1::GROWTH_COUNT_ONE_MORE_ALWAYS;
  }
  return kNoMirror;
}

int Mirror(StatePrecision value) {
  switch (value) {
    case StatePrecision::kFloat32:
      return v1::STATE_PRECISION_FLOAT32;
    case StatePrecision::kFloat32Float64Factors:
      return v1::STATE_PRECISION_FLOAT32_FLOAT64_FACTORS;
    case StatePrecision::kFloat64:
      return v1::STATE_PRECISION_FLOAT64;
  }
  return kNoMirror;
}

int Mirror(FiniteGuard value) {
  switch (value) {
    case FiniteGuard::kHold:
      return v1::FINITE_GUARD_HOLD;
    case FiniteGuard::kClamp:
      return v1::FINITE_GUARD_CLAMP;
  }
  return kNoMirror;
}

int Mirror(UnscaleArithmetic value) {
  switch (value) {
    case UnscaleArithmetic::kDivide:
      return v1::UNSCALE_ARITHMETIC_DIVIDE;
    case UnscaleArithmetic::kMultiplyByReciprocal:
      return v1::UNSCALE_ARITHMETIC_MULTIPLY_BY_RECIPROCAL;
  }
  return kNoMirror;
}

int Mirror(FloorAction value) {
  switch (value) {
    case FloorAction::kHold:
      return v1::FLOOR_ACTION_HOLD;
    case FloorAction::kMark:
      return v1::FLOOR_ACTION_MARK;
  }
  return kNoMirror;
}

int Mirror(ElementType value) {
  switch (value) {
    case ElementType::kFloat32:
      return v1::ELEMENT_TYPE_FLOAT32;
    case ElementType::kFloat16:
      return v1::ELEMENT_TYPE_FLOAT16;
    case ElementType::kBFloat16:
      return v1::ELEMENT_TYPE_BFLOAT16;
    case ElementType::kFloat64:
      return v1::ELEMENT_TYPE_FLOAT64;
  }
  return kNoMirror;
}

v1::LossScaler DynamicProto() {
  v1::LossScaler proto;
  proto.mutable_dynamic()->set_scale(1024.0);
  return proto;
}

// Every enumerator of a knob arrives at its mirror, and comes back.
template <typename Set, typename Get, typename Option>
void CheckKnob(const google::protobuf::EnumDescriptor* descriptor, Set set,
               Get get, Option option) {
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const int value = descriptor->value(i)->number();
    SCOPED_TRACE(descriptor->value(i)->name());
    v1::LossScaler proto = DynamicProto();
    set(proto.mutable_dynamic(), value);
    const absl::StatusOr<LossScaler> scaler = LossScalerFromProto(proto);
    ASSERT_THAT(scaler, IsOk());
    // Unset is the default, which is the first.
    const int expected = value == 0 ? 1 : value;
    EXPECT_THAT(Mirror(option(scaler->dynamic_options())), Eq(expected));
    v1::LossScaler back;
    ToProto(*scaler, &back);
    EXPECT_THAT(get(back.dynamic()), Eq(expected));
  }
  v1::LossScaler unknown = DynamicProto();
  set(unknown.mutable_dynamic(), descriptor->value_count());
  const absl::StatusOr<LossScaler> scaler = LossScalerFromProto(unknown);
  EXPECT_THAT(scaler, IsErrorSaying(Reason::kInvalidScaler, "unknown value"));
  EXPECT_THAT(
      MetadataOf(scaler.status()),
      Contains(Pair("value", std::to_string(descriptor->value_count()))));
}

#define CHECK_KNOB(Enum, field)                                     \
  CheckKnob(                                                        \
      v1::Enum##_descriptor(),                                      \
      [](v1::DynamicScaler* proto, int value) {                     \
        proto->set_##field(static_cast<v1::Enum>(value));           \
      },                                                            \
      [](const v1::DynamicScaler& proto) { return proto.field(); }, \
      [](const DynamicOptions& options) { return options.field; })

TEST(EnumTest, KnobsOfTheScalerMirrorTheProto) {
  CHECK_KNOB(HysteresisRefill, hysteresis_refill);
  CHECK_KNOB(GrowthCount, growth_count);
  CHECK_KNOB(StatePrecision, precision);
  CHECK_KNOB(FiniteGuard, finite_guard);
  CHECK_KNOB(UnscaleArithmetic, unscale_arithmetic);
  CHECK_KNOB(FloorAction, floor_action);
}

TEST(EnumTest, ElementTypesMirrorTheProto) {
  const google::protobuf::EnumDescriptor* descriptor =
      v1::ElementType_descriptor();
  for (int i = 1; i < descriptor->value_count(); ++i) {
    const auto proto =
        static_cast<v1::ElementType>(descriptor->value(i)->number());
    const absl::StatusOr<ElementType> type =
        ElementTypeFromProto(proto, "type");
    ASSERT_THAT(type, IsOk());
    EXPECT_THAT(Mirror(*type), Eq(proto));
    EXPECT_THAT(ToProto(*type), Eq(proto));
  }
}

TEST(EnumTest, AnUnsetOrUnknownElementTypeIsRefusedNamingTheField) {
  EXPECT_THAT(ElementTypeFromProto(v1::ELEMENT_TYPE_UNSPECIFIED, "loss_type"),
              IsErrorSaying(Reason::kInvalidField, "loss_type is not set"));
  const absl::Status unknown =
      ElementTypeFromProto(static_cast<v1::ElementType>(5), "type").status();
  EXPECT_THAT(unknown, IsErrorSaying(Reason::kInvalidField, "unknown value 5"));
  EXPECT_THAT(MetadataOf(unknown), Contains(Pair("field", "type")));
}

// ---- Scalers ------------------------------------------------------------

absl::StatusOr<LossScaler> RoundTrip(const LossScaler& scaler) {
  v1::LossScaler proto;
  // What is there before does not show.
  proto.mutable_static_()->set_scale(3.0);
  ToProto(scaler, &proto);
  return LossScalerFromProto(proto);
}

TEST(LossScalerTest, EveryKindRoundTrips) {
  for (const LossScaler& scaler :
       {LossScaler::None(), *LossScaler::Static(1024.0), GoldenScaler()}) {
    EXPECT_THAT(RoundTrip(scaler), IsOkAndHolds(Eq(scaler)));
  }
}

TEST(LossScalerTest, EveryFieldOfADynamicScalerRoundTrips) {
  const DynamicOptions options{
      .initial_scale = 4096.0,
      .growth_factor = 1.5,
      .backoff_factor = 0.25,
      .growth_interval = 77,
      .min_scale = 2.0,
      .max_scale = 8192.0,
      .hysteresis = 5,
      .hysteresis_refill = HysteresisRefill::kOnCleanStepOrBackoff,
      .growth_count = GrowthCount::kOneMoreAlways,
      .precision = StatePrecision::kFloat64,
      .finite_guard = FiniteGuard::kClamp,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal,
      .floor_action = FloorAction::kMark,
      .max_consecutive_skips = 9};
  const DynamicState state{.scale = 4096.0,
                           .steps_since_overflow = 6,
                           .hysteresis_left = 3,
                           .consecutive_skips = 4};
  const LossScaler scaler = *LossScaler::Dynamic(options, state);
  v1::LossScaler proto;
  ToProto(scaler, &proto);
  // A field that nobody sets or reads would be missing here.
  const google::protobuf::Descriptor* descriptor =
      v1::DynamicScaler::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = descriptor->field(i);
    EXPECT_TRUE(
        proto.dynamic().GetReflection()->HasField(proto.dynamic(), field))
        << field->name();
  }
  EXPECT_THAT(LossScalerFromProto(proto), IsOkAndHolds(Eq(scaler)));
}

TEST(LossScalerTest, ScalesKeepEveryBitOfADouble) {
  const double scale = 1024.0 + 0x1p-40;
  const LossScaler scaler = *LossScaler::Dynamic(DynamicOptions{
      .initial_scale = scale, .precision = StatePrecision::kFloat64});
  ASSERT_THAT(RoundTrip(scaler), IsOk());
  EXPECT_THAT(RoundTrip(scaler)->scale(), Eq(scale));
}

TEST(LossScalerTest, ZeroMeansTheDefault) {
  EXPECT_THAT(LossScalerFromProto(DynamicProto()),
              IsOkAndHolds(Eq(*LossScaler::Dynamic(1024.0, 2.0, 2000))));
  v1::LossScaler proto = DynamicProto();
  proto.mutable_dynamic()->set_hysteresis(3);
  const absl::StatusOr<LossScaler> scaler = LossScalerFromProto(proto);
  ASSERT_THAT(scaler, IsOk());
  EXPECT_THAT(scaler->dynamic_state().hysteresis_left, Eq(3));
}

TEST(LossScalerTest, WhatTheScalerRefusesIsRefused) {
  EXPECT_THAT(LossScalerFromProto(v1::LossScaler()),
              IsErrorSaying(Reason::kInvalidScaler, "no kind"));
  v1::LossScaler proto;
  proto.mutable_static_();
  EXPECT_THAT(LossScalerFromProto(proto), IsError(Reason::kInvalidScaler));
  proto = DynamicProto();
  proto.mutable_dynamic()->set_growth_factor(
      std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(LossScalerFromProto(proto), IsError(Reason::kInvalidScaler));
  proto = DynamicProto();
  proto.mutable_dynamic()->set_growth_interval(-1);
  EXPECT_THAT(LossScalerFromProto(proto), IsError(Reason::kInvalidScaler));
  proto = DynamicProto();
  proto.mutable_dynamic()->set_hysteresis_left(2);
  EXPECT_THAT(LossScalerFromProto(proto), IsError(Reason::kInvalidScaler));
}

// ---- Where a session stands ---------------------------------------------

TEST(CurrentTest, EveryFieldRoundTrips) {
  const Current current{.step = 4,
                        .scale = 0.5,
                        .base = 3,
                        .base_session_uid = "uid",
                        .epoch = 2};
  v1::Current proto;
  ToProto(current, &proto);
  EXPECT_THAT(testing::UnsetFields(proto), IsEmpty());
  EXPECT_THAT(CurrentFromProto(proto), Eq(current));
}

// ---- Verdicts of chunks -------------------------------------------------

UnscaleVerdict FullVerdict() {
  UnscaleVerdict verdict;
  verdict.element_count = 100;
  verdict.nan_count = 1;
  verdict.positive_infinity_count = 2;
  verdict.negative_infinity_count = 3;
  verdict.flushed_to_zero = 4;
  verdict.first_bad_index = 0;
  verdict.sum_of_squares = 5.5;
  verdict.absolute_maximum = 6.5;
  return verdict;
}

TEST(ChunkVerdictTest, EveryFieldRoundTrips) {
  v1::ChunkVerdict proto;
  ToProto(FullVerdict(), true, &proto);
  EXPECT_TRUE(proto.overflow());
  EXPECT_TRUE(proto.has_first_bad_index());
  EXPECT_THAT(VerdictFromProto(proto, 100), Eq(FullVerdict()));
}

TEST(ChunkVerdictTest, AFiniteOneSaysSo) {
  UnscaleVerdict verdict;
  verdict.sum_of_squares = 2.0;
  v1::ChunkVerdict proto;
  ToProto(verdict, true, &proto);
  EXPECT_FALSE(proto.overflow());
  EXPECT_FALSE(proto.has_first_bad_index());
  EXPECT_THAT(VerdictFromProto(proto, 0), Eq(verdict));
}

TEST(ChunkVerdictTest, StatisticsAreLeftOutWhenThereAreNone) {
  v1::ChunkVerdict proto;
  ToProto(FullVerdict(), false, &proto);
  EXPECT_FALSE(proto.has_sum_of_squares());
  EXPECT_FALSE(proto.has_absolute_maximum());
  EXPECT_THAT(proto.nan_count(), Eq(1));
}

TEST(ChunkVerdictTest, AnOverflowWithoutCountsStaysAnOverflow) {
  v1::ChunkVerdict proto;
  proto.set_overflow(true);
  EXPECT_TRUE(VerdictFromProto(proto, 4).overflow());
  // -1 + 1 must not add up to none.
  proto.set_nan_count(-1);
  proto.set_positive_infinity_count(1);
  EXPECT_TRUE(VerdictFromProto(proto, 4).overflow());
}

// ---- Times --------------------------------------------------------------

TEST(TimeTest, RoundTripsToTheNanosecondOnBothSidesOfTheEpoch) {
  for (const std::int64_t nanoseconds :
       {std::int64_t{0}, std::int64_t{1'800'000'000'123'456'789},
        std::int64_t{-1}}) {
    const absl::Time time = absl::FromUnixNanos(nanoseconds);
    const google::protobuf::Timestamp proto = ToProto(time);
    // The definition of Timestamp.
    EXPECT_GE(proto.nanos(), 0);
    EXPECT_LT(proto.nanos(), 1'000'000'000);
    EXPECT_THAT(TimeFromProto(proto), Eq(time));
  }
}

TEST(DurationTest, RoundTripsToTheNanosecond) {
  for (const absl::Duration duration :
       {absl::ZeroDuration(), absl::Nanoseconds(1),
        absl::Hours(24) + absl::Nanoseconds(999'999'999)}) {
    EXPECT_THAT(DurationFromProto(ToProto(duration)), Eq(duration));
  }
  const google::protobuf::Duration proto = ToProto(absl::Milliseconds(1'250));
  EXPECT_THAT(proto.seconds(), Eq(1));
  EXPECT_THAT(proto.nanos(), Eq(250'000'000));
}

}  // namespace
}  // namespace lossscaler::wire
