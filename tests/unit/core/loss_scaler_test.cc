// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/loss_scaler.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::testing::ElementsAre;
using testing::IsError;
using testing::IsErrorSaying;
using testing::IsOk;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

LossScaler MustMake(const DynamicOptions& options) {
  absl::StatusOr<LossScaler> scaler = LossScaler::Dynamic(options);
  EXPECT_THAT(scaler, IsOk());
  return scaler.value_or(LossScaler());
}

LossScaler MustMake(const DynamicOptions& options, const DynamicState& state) {
  absl::StatusOr<LossScaler> scaler = LossScaler::Dynamic(options, state);
  EXPECT_THAT(scaler, IsOk());
  return scaler.value_or(LossScaler());
}

// The scale after each step; '1' is an overflow, '0' a clean step.
std::vector<double> Scales(LossScaler scaler, std::string_view overflows) {
  std::vector<double> scales;
  for (char overflow : overflows) {
    scales.push_back(scaler.Update(overflow == '1').scale_after);
  }
  return scales;
}

// ---- None and Static.

TEST(NoneTest, HasScaleOneAndNeverChanges) {
  LossScaler none = LossScaler::None();
  EXPECT_TRUE(none.is_none());
  EXPECT_EQ(none.kind(), "None");
  EXPECT_EQ(none.scale(), 1.0);
  EXPECT_TRUE(none.Update(false).apply);
  EXPECT_FALSE(none.Update(true).apply);
  EXPECT_EQ(none, LossScaler());
}

TEST(StaticTest, NeverChangesAndStillSkipsOverflows) {
  LossScaler scaler = *LossScaler::Static(128.0);
  EXPECT_TRUE(scaler.is_static());
  EXPECT_EQ(scaler.kind(), "Static");
  for (int i = 0; i < 50; ++i) {
    const ScalerUpdate update = scaler.Update(true);
    EXPECT_FALSE(update.apply);
    EXPECT_EQ(update.scale_before, 128.0);
    EXPECT_EQ(update.scale_after, 128.0);
    EXPECT_FALSE(update.floored);
  }
  EXPECT_TRUE(scaler.Update(false).apply);
  EXPECT_EQ(scaler, *LossScaler::Static(128.0));
}

TEST(StaticTest, IsRoundedToFloat32) {
  // 1/10 as a float32, written out.
  EXPECT_EQ(LossScaler::Static(0.1)->scale(), 0.100000001490116119384765625);
}

TEST(StaticTest, AcceptsExactlyTheNormalFloat32s) {
  EXPECT_THAT(LossScaler::Static(0x1p-126), IsOk());
  EXPECT_THAT(LossScaler::Static(0x1.fffffep127), IsOk());
  for (double bad : {0.0, -0.0, -1.0, 0x1.fffffcp-127, 0x1p128, 1e-320, 1e300,
                     kInfinite, -kInfinite, kNan}) {
    EXPECT_THAT(LossScaler::Static(bad),
                IsErrorSaying(Reason::kInvalidScaler, "scale is "))
        << bad;
  }
}

// ---- Arithmetic.

TEST(ScaleLossTest, MultipliesInFloat32) {
  const LossScaler scaler = *LossScaler::Dynamic(65536.0, 2.0, 2000);
  EXPECT_EQ(scaler.ScaleLoss(0.5f), 32768.0f);
  EXPECT_EQ(scaler.ScaleLoss(3e38f), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(scaler.ScaleLoss(NAN)));
  EXPECT_EQ(LossScaler::None().ScaleLoss(0.1f), 0.1f);
}

TEST(UnscaleTest, DividesTrulyByDefault) {
  // 5 / 1000 as a float32 is 0x3ba3d70a; 5 * f32(1 / 1000) is one ulp more.
  DynamicOptions options;
  options.initial_scale = 1000.0;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(MustMake(options).Unscale(5.0f)),
            0x3ba3d70au);
  options.unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(MustMake(options).Unscale(5.0f)),
            0x3ba3d70bu);
}

TEST(UnscaleTest, MayOverflowBelowScaleOne) {
  EXPECT_EQ(LossScaler::Static(0.5)->Unscale(3e38f),
            std::numeric_limits<float>::infinity());
}

TEST(UnscaleTest, KeepsEveryBitAtScaleOne) {
  // A signalling NaN would become a quiet one in any arithmetic.
  const float signalling = std::bit_cast<float>(0x7f800001u);
  EXPECT_EQ(
      std::bit_cast<std::uint32_t>(LossScaler::None().Unscale(signalling)),
      0x7f800001u);
}

// ---- The base rule.

TEST(BaseRuleTest, GrowsAfterTheIntervalAndBacksOffAtOnce) {
  const LossScaler scaler = *LossScaler::Dynamic(65536.0, 2.0, 3);
  EXPECT_THAT(
      Scales(scaler, "00011000"),
      ElementsAre(65536, 65536, 131072, 65536, 32768, 32768, 32768, 65536));
  EXPECT_THAT(Scales(scaler, "10110000"),
              ElementsAre(32768, 32768, 16384, 8192, 8192, 8192, 16384, 16384));
}

TEST(BaseRuleTest, HasBackoffFactorOneHalf) {
  const LossScaler scaler = *LossScaler::Dynamic(1024.0, 4.0, 7);
  const DynamicOptions options = scaler.dynamic_options();
  EXPECT_EQ(options.initial_scale, 1024.0);
  EXPECT_EQ(options.growth_factor, 4.0);
  EXPECT_EQ(options.backoff_factor, 0.5);
  EXPECT_EQ(options.growth_interval, 7);
}

TEST(BaseRuleTest, ReportsWhatAnUpdateDid) {
  LossScaler scaler = *LossScaler::Dynamic(1024.0, 2.0, 2);
  ScalerUpdate expected;
  expected.scale_before = expected.scale_after = 1024.0;
  EXPECT_EQ(scaler.Update(false), expected);
  EXPECT_EQ(scaler.dynamic_state().steps_since_overflow, 1);
  expected.scale_after = 2048.0;
  EXPECT_EQ(scaler.Update(false), expected);
  EXPECT_EQ(scaler.dynamic_state().steps_since_overflow, 0);
  expected.apply = false;
  expected.scale_before = 2048.0;
  expected.scale_after = 1024.0;
  EXPECT_EQ(scaler.Update(true), expected);
}

TEST(BaseRuleTest, GrowsAtOnceWhenTheCounterIsAlreadyPastTheInterval) {
  DynamicOptions options;
  options.growth_interval = 3;
  DynamicState state;
  state.scale = 1024.0;
  state.steps_since_overflow = 5;
  EXPECT_THAT(Scales(MustMake(options, state), "0000"),
              ElementsAre(2048, 2048, 2048, 4096));
}

// ---- Precision.

TEST(PrecisionTest, RoundsProductsAsThePrecisionSays) {
  DynamicOptions options;
  options.growth_factor = 1.001;
  options.growth_interval = 1;
  EXPECT_EQ(Scales(MustMake(options), "00000000").back(), 66062.1484375);
  options.precision = StatePrecision::kFloat32Float64Factors;
  EXPECT_EQ(Scales(MustMake(options), "00000000").back(), 66062.1328125);
}

TEST(PrecisionTest, RoundsBackoffsAsThePrecisionSays) {
  DynamicOptions options;
  options.backoff_factor = 0.7;
  EXPECT_EQ(Scales(MustMake(options), "111111").back(), 7710.244140625);
  options.precision = StatePrecision::kFloat32Float64Factors;
  EXPECT_EQ(Scales(MustMake(options), "111111").back(), 7710.2451171875);
}

TEST(PrecisionTest, Float64KeepsWhatFloat32WouldRound) {
  DynamicOptions options;
  options.initial_scale = 16777217.0;  // 2^24 + 1 is no float32.
  EXPECT_EQ(MustMake(options).scale(), 16777216.0);
  options.precision = StatePrecision::kFloat32Float64Factors;
  EXPECT_EQ(MustMake(options).scale(), 16777216.0);
  options.precision = StatePrecision::kFloat64;
  EXPECT_EQ(MustMake(options).scale(), 16777217.0);
  EXPECT_THAT(Scales(MustMake(options), "1"), ElementsAre(8388608.5));
}

// ---- Safety at both ends.

TEST(SafetyTest, TwoHundredOverflowsLeaveAScaleWithAFiniteReciprocal) {
  for (StatePrecision precision :
       {StatePrecision::kFloat32, StatePrecision::kFloat32Float64Factors,
        StatePrecision::kFloat64}) {
    DynamicOptions options;
    options.precision = precision;
    LossScaler scaler = MustMake(options);
    // 2^16 * 2^-142 = 2^-126 is reached by exact backoffs.
    for (int i = 0; i < 142; ++i) EXPECT_FALSE(scaler.Update(true).floored);
    EXPECT_EQ(scaler.scale(), 0x1p-126);
    for (int i = 142; i < 200; ++i) EXPECT_TRUE(scaler.Update(true).floored);
    EXPECT_EQ(scaler.scale(), 0x1p-126);
    EXPECT_TRUE(std::isfinite(1.0f / static_cast<float>(scaler.scale())));
  }
}

TEST(SafetyTest, ABackoffThatWouldPassTheFloorStopsThere) {
  DynamicOptions options;
  options.initial_scale = 0x1p-125;
  options.backoff_factor = 0.25;
  LossScaler scaler = MustMake(options);
  const ScalerUpdate update = scaler.Update(true);
  EXPECT_EQ(update.scale_after, 0x1p-126);
  EXPECT_TRUE(update.floored);
}

TEST(SafetyTest, GrowthPastTheLargestFloat32IsHeld) {
  for (StatePrecision precision :
       {StatePrecision::kFloat32, StatePrecision::kFloat32Float64Factors,
        StatePrecision::kFloat64}) {
    DynamicOptions options;
    options.initial_scale = 0x1p126;
    options.growth_interval = 1;
    options.precision = precision;
    LossScaler scaler = MustMake(options);
    EXPECT_FALSE(scaler.Update(false).saturated);
    EXPECT_EQ(scaler.scale(), 0x1p127);
    for (int i = 0; i < 3; ++i) {
      const ScalerUpdate update = scaler.Update(false);
      EXPECT_TRUE(update.apply);
      EXPECT_TRUE(update.saturated);
      EXPECT_EQ(update.scale_after, 0x1p127);
    }
  }
}

TEST(SafetyTest, AHeldGrowthRestartsTheCounter) {
  DynamicOptions options;
  options.initial_scale = 0x1p127;
  options.growth_interval = 2;
  LossScaler scaler = MustMake(options);
  EXPECT_FALSE(scaler.Update(false).saturated);
  EXPECT_TRUE(scaler.Update(false).saturated);
  EXPECT_EQ(scaler.dynamic_state().steps_since_overflow, 0);
  EXPECT_FALSE(scaler.Update(false).saturated);
}

TEST(SafetyTest, GrowthPastTheLargestFloat32IsClampedWhenAsked) {
  DynamicOptions options;
  options.initial_scale = 0x1p127;
  options.growth_interval = 1;
  options.finite_guard = FiniteGuard::kClamp;
  LossScaler scaler = MustMake(options);
  ScalerUpdate update = scaler.Update(false);
  EXPECT_TRUE(update.saturated);
  EXPECT_EQ(update.scale_after, 0x1.fffffep127);
  update = scaler.Update(false);
  EXPECT_TRUE(update.saturated);
  EXPECT_EQ(update.scale_after, 0x1.fffffep127);
}

TEST(SafetyTest, AGrowthToTheLargestFloat32ExactlyIsNotSaturated) {
  DynamicOptions options;
  options.initial_scale = 0x1.fffffep126;
  options.growth_interval = 1;
  LossScaler scaler = MustMake(options);
  EXPECT_FALSE(scaler.Update(false).saturated);
  EXPECT_EQ(scaler.scale(), 0x1.fffffep127);
  EXPECT_TRUE(scaler.Update(false).saturated);
}

// ---- Bounds.

TEST(BoundsTest, MaxScaleClampsAndSaysSo) {
  DynamicOptions options;
  options.initial_scale = 1000.0;
  options.max_scale = 3000.0;
  options.growth_interval = 1;
  LossScaler scaler = MustMake(options);
  EXPECT_FALSE(scaler.Update(false).saturated);
  EXPECT_EQ(scaler.scale(), 2000.0);
  EXPECT_TRUE(scaler.Update(false).saturated);
  EXPECT_EQ(scaler.scale(), 3000.0);
  EXPECT_TRUE(scaler.Update(false).saturated);
  EXPECT_THAT(Scales(scaler, "1"), ElementsAre(1500.0));
}

TEST(BoundsTest, MaxScaleClampsEvenWhereTheProductIsInfinite) {
  DynamicOptions options;
  options.initial_scale = 0x1p127;
  options.max_scale = 0x1.8p127;
  options.growth_interval = 1;
  options.finite_guard = FiniteGuard::kHold;
  EXPECT_THAT(Scales(MustMake(options), "0"), ElementsAre(0x1.8p127));
}

TEST(BoundsTest, ReachingABoundExactlyIsNotBeingStoppedByIt) {
  DynamicOptions options;
  options.initial_scale = 4.0;
  options.min_scale = 1.0;
  options.max_scale = 8.0;
  options.growth_interval = 1;
  options.floor_action = FloorAction::kMark;
  LossScaler scaler = MustMake(options);
  EXPECT_FALSE(scaler.Update(false).saturated);  // 8
  EXPECT_TRUE(scaler.Update(false).saturated);
  EXPECT_FALSE(scaler.Update(true).floored);  // 4
  EXPECT_FALSE(scaler.Update(true).floored);  // 2
  EXPECT_FALSE(scaler.Update(true).floored);  // 1
  EXPECT_TRUE(scaler.Update(true).floored);
  EXPECT_EQ(scaler.scale(), 1.0);
}

// The product of such a scale and factor rounds to the scale itself.
TEST(BoundsTest, AScaleAtItsBoundIsStoppedByItWhateverTheFactor) {
  DynamicOptions options;
  options.precision = StatePrecision::kFloat32Float64Factors;
  options.growth_factor = 1.0 + 0x1p-52;
  options.backoff_factor = 1.0 - 0x1p-53;
  options.growth_interval = 1;
  options.min_scale = options.max_scale = options.initial_scale;
  options.floor_action = FloorAction::kMark;
  LossScaler scaler = MustMake(options);
  EXPECT_TRUE(scaler.Update(false).saturated);
  EXPECT_TRUE(scaler.Update(true).floored);
  options.min_scale = options.max_scale = std::nullopt;
  LossScaler unbound = MustMake(options);
  EXPECT_FALSE(unbound.Update(false).saturated);
  EXPECT_FALSE(unbound.Update(true).floored);
}

TEST(BoundsTest, MinScaleIsSilentUnlessMarked) {
  DynamicOptions options;
  options.initial_scale = 3.0;
  options.min_scale = 2.0;
  LossScaler silent = MustMake(options);
  ScalerUpdate update = silent.Update(true);
  EXPECT_EQ(update.scale_after, 2.0);
  EXPECT_FALSE(update.floored);
  options.floor_action = FloorAction::kMark;
  LossScaler marking = MustMake(options);
  update = marking.Update(true);
  EXPECT_EQ(update.scale_after, 2.0);
  EXPECT_TRUE(update.floored);
}

TEST(BoundsTest, TheSmallestNormalIsMarkedEvenAsAMinScale) {
  DynamicOptions options;
  options.initial_scale = kMinScale;
  options.min_scale = kMinScale;
  EXPECT_TRUE(MustMake(options).Update(true).floored);
}

TEST(BoundsTest, MinScaleBelowOneIsReached) {
  DynamicOptions options;
  options.initial_scale = 1.0;
  options.min_scale = 0x1p-6;
  EXPECT_THAT(
      Scales(MustMake(options), "1111111"),
      ElementsAre(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.015625));
}

// ---- Hysteresis.

DynamicOptions Hysteresis(HysteresisRefill refill) {
  DynamicOptions options;
  options.growth_interval = 3;
  options.hysteresis = 2;
  options.hysteresis_refill = refill;
  return options;
}

// The last three values of B111 tell the families apart.
TEST(HysteresisTest, RefillsAsTheRuleSays) {
  EXPECT_THAT(
      Scales(MustMake(Hysteresis(HysteresisRefill::kOnGrowth)), "10110000111"),
      ElementsAre(65536, 65536, 32768, 16384, 16384, 16384, 32768, 32768, 32768,
                  16384, 8192));
  EXPECT_THAT(Scales(MustMake(Hysteresis(HysteresisRefill::kOnCleanStep)),
                     "10110000111"),
              ElementsAre(65536, 65536, 65536, 32768, 32768, 32768, 65536,
                          65536, 65536, 32768, 16384));
  EXPECT_THAT(
      Scales(MustMake(Hysteresis(HysteresisRefill::kOnCleanStepOrBackoff)),
             "10110000111"),
      ElementsAre(65536, 65536, 65536, 32768, 32768, 32768, 65536, 65536, 65536,
                  32768, 32768));
}

TEST(HysteresisTest, AForgivenOverflowSkipsAndRestartsTheCounter) {
  LossScaler scaler = MustMake(Hysteresis(HysteresisRefill::kOnGrowth));
  scaler.Update(false);
  scaler.Update(false);
  const ScalerUpdate update = scaler.Update(true);
  EXPECT_FALSE(update.apply);
  EXPECT_EQ(update.scale_after, 65536.0);
  EXPECT_EQ(update.hysteresis_before, 2);
  EXPECT_EQ(update.hysteresis_after, 1);
  EXPECT_EQ(scaler.dynamic_state().steps_since_overflow, 0);
}

TEST(HysteresisTest, AHeldGrowthRefillsToo) {
  DynamicOptions options = Hysteresis(HysteresisRefill::kOnGrowth);
  options.growth_interval = 1;
  DynamicState state;
  state.scale = 0x1p127;
  state.hysteresis_left = 1;
  LossScaler scaler = MustMake(options, state);
  const ScalerUpdate update = scaler.Update(false);
  EXPECT_TRUE(update.saturated);
  EXPECT_EQ(update.hysteresis_after, 2);
}

// ---- Counting.

DynamicOptions Counting(GrowthCount count) {
  DynamicOptions options;
  options.growth_interval = 3;
  options.growth_count = count;
  return options;
}

TEST(GrowthCountTest, OneMoreAfterOverflowIsLateOnlyOnce) {
  EXPECT_THAT(Scales(MustMake(Counting(GrowthCount::kOneMoreAfterOverflow)),
                     "0000000001000"),
              ElementsAre(65536, 65536, 65536, 131072, 131072, 131072, 262144,
                          262144, 262144, 131072, 131072, 131072, 131072));
}

TEST(GrowthCountTest, OneMoreAlwaysIsLateEveryTime) {
  EXPECT_THAT(
      Scales(MustMake(Counting(GrowthCount::kOneMoreAlways)), "000000000"),
      ElementsAre(65536, 65536, 65536, 131072, 131072, 131072, 131072, 262144,
                  262144));
}

TEST(GrowthCountTest, TheCounterNeverOverflows) {
  for (GrowthCount count :
       {GrowthCount::kInterval, GrowthCount::kOneMoreAfterOverflow,
        GrowthCount::kOneMoreAlways}) {
    DynamicOptions options = Counting(count);
    options.growth_interval = kMaxInt64;
    DynamicState state;
    state.steps_since_overflow = kMaxInt64;
    LossScaler scaler = MustMake(options, state);
    EXPECT_EQ(scaler.Update(false).scale_after, 131072.0);
    for (int i = 0; i < 3; ++i) scaler.Update(false);
    EXPECT_EQ(scaler.scale(), 131072.0);
    EXPECT_GE(scaler.dynamic_state().steps_since_overflow, 0);
  }
}

TEST(GrowthCountTest, AFullCounterKeepsItsPlaceInTheInterval) {
  DynamicOptions options = Counting(GrowthCount::kOneMoreAfterOverflow);
  options.growth_interval = 5;
  DynamicState state;
  state.steps_since_overflow = kMaxInt64;  // = 2 modulo 5.
  // Grows on the clean step that finds a multiple of 5: the fourth.
  EXPECT_THAT(Scales(MustMake(options, state), "00000"),
              ElementsAre(65536, 65536, 65536, 131072, 131072));
}

// ---- Stalls.

TEST(StallTest, IsReportedFromTheLimitOnUntilACleanStep) {
  DynamicOptions options;
  options.max_consecutive_skips = 2;
  LossScaler scaler = MustMake(options);
  EXPECT_FALSE(scaler.Update(true).stalled);
  EXPECT_TRUE(scaler.Update(true).stalled);
  EXPECT_TRUE(scaler.Update(true).stalled);
  EXPECT_EQ(scaler.dynamic_state().consecutive_skips, 3);
  EXPECT_FALSE(scaler.Update(false).stalled);
  EXPECT_FALSE(scaler.Update(true).stalled);
}

TEST(StallTest, IsNotCountedWithoutALimit) {
  LossScaler scaler = MustMake(DynamicOptions());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(scaler.Update(true).stalled);
  EXPECT_EQ(scaler.dynamic_state().consecutive_skips, 0);
}

TEST(StallTest, TheCounterNeverOverflows) {
  DynamicOptions options;
  options.max_consecutive_skips = kMaxInt64;
  DynamicState state;
  state.consecutive_skips = kMaxInt64;
  LossScaler scaler = MustMake(options, state);
  EXPECT_TRUE(scaler.Update(true).stalled);
  EXPECT_EQ(scaler.dynamic_state().consecutive_skips, kMaxInt64);
}

// ---- Validation.

struct BadOptions {
  const char* field;
  void (*change)(DynamicOptions&);
};

TEST(ValidationTest, NamesTheFieldThatIsWrong) {
  const BadOptions table[] = {
      {"initial_scale", [](DynamicOptions& o) { o.initial_scale = 0.0; }},
      {"initial_scale", [](DynamicOptions& o) { o.initial_scale = -1.0; }},
      {"initial_scale", [](DynamicOptions& o) { o.initial_scale = kNan; }},
      {"initial_scale", [](DynamicOptions& o) { o.initial_scale = kInfinite; }},
      {"initial_scale", [](DynamicOptions& o) { o.initial_scale = 3.5e38; }},
      {"initial_scale", [](DynamicOptions& o) { o.initial_scale = 1e-38; }},
      {"initial_scale", [](DynamicOptions& o) { o.min_scale = 65537.0; }},
      {"initial_scale", [](DynamicOptions& o) { o.max_scale = 65535.0; }},
      {"growth_factor", [](DynamicOptions& o) { o.growth_factor = 1.0; }},
      {"growth_factor", [](DynamicOptions& o) { o.growth_factor = 0.5; }},
      {"growth_factor", [](DynamicOptions& o) { o.growth_factor = kNan; }},
      {"growth_factor", [](DynamicOptions& o) { o.growth_factor = 1e39; }},
      {"growth_factor",
       [](DynamicOptions& o) {
         o.precision = StatePrecision::kFloat64;
         o.growth_factor = kInfinite;
       }},
      {"backoff_factor", [](DynamicOptions& o) { o.backoff_factor = 0.0; }},
      {"backoff_factor", [](DynamicOptions& o) { o.backoff_factor = 1.0; }},
      {"backoff_factor", [](DynamicOptions& o) { o.backoff_factor = -0.5; }},
      {"backoff_factor", [](DynamicOptions& o) { o.backoff_factor = kNan; }},
      {"backoff_factor", [](DynamicOptions& o) { o.backoff_factor = 1e-60; }},
      {"growth_interval", [](DynamicOptions& o) { o.growth_interval = 0; }},
      {"growth_interval", [](DynamicOptions& o) { o.growth_interval = -1; }},
      {"min_scale", [](DynamicOptions& o) { o.min_scale = 0.0; }},
      {"min_scale", [](DynamicOptions& o) { o.min_scale = 1e-40; }},
      {"min_scale", [](DynamicOptions& o) { o.min_scale = kNan; }},
      {"max_scale", [](DynamicOptions& o) { o.max_scale = kInfinite; }},
      {"max_scale",
       [](DynamicOptions& o) {
         o.precision = StatePrecision::kFloat64;
         o.max_scale = 1e300;
       }},
      {"max_scale",
       [](DynamicOptions& o) {
         o.min_scale = 2.0;
         o.max_scale = 1.0;
       }},
      {"hysteresis", [](DynamicOptions& o) { o.hysteresis = 0; }},
      {"hysteresis", [](DynamicOptions& o) { o.hysteresis = -3; }},
      {"max_consecutive_skips",
       [](DynamicOptions& o) { o.max_consecutive_skips = -1; }},
      {"precision",
       [](DynamicOptions& o) { o.precision = static_cast<StatePrecision>(3); }},
      {"growth_count",
       [](DynamicOptions& o) {
         o.growth_count = static_cast<GrowthCount>(-1);
       }},
      {"floor_action",
       [](DynamicOptions& o) { o.floor_action = static_cast<FloorAction>(2); }},
  };
  for (const BadOptions& bad : table) {
    DynamicOptions options;
    bad.change(options);
    const absl::Status status = LossScaler::Dynamic(options).status();
    EXPECT_THAT(status, IsError(Reason::kInvalidScaler)) << bad.field;
    EXPECT_EQ(MetadataOf(status)["field"], bad.field) << status;
  }
}

TEST(ValidationTest, SaysWhatRoundingMadeOfAValue) {
  EXPECT_THAT(LossScaler::Dynamic(65536.0, 1.00000001, 2000),
              IsErrorSaying(Reason::kInvalidScaler,
                            "growth_factor is 1.00000001 (1 as a float32); it "
                            "must be finite and greater than 1"));
  EXPECT_THAT(LossScaler::Dynamic(3.5e38, 2.0, 2000),
              IsErrorSaying(Reason::kInvalidScaler,
                            "initial_scale is 3.5e+38 (inf as a float32)"));
  DynamicOptions options;
  options.growth_factor = 1.00000001;
  options.precision = StatePrecision::kFloat32Float64Factors;
  EXPECT_THAT(LossScaler::Dynamic(options), IsOk());
}

TEST(ValidationTest, BoundsMayTouch) {
  DynamicOptions options;
  options.initial_scale = 2.0;
  options.min_scale = 2.0;
  options.max_scale = 2.0;
  EXPECT_THAT(LossScaler::Dynamic(options), IsOk());
}

struct BadState {
  const char* field;
  void (*change)(DynamicState&);
};

TEST(ValidationTest, RefusesAStateThatTheOptionsDoNotAllow) {
  const BadState table[] = {
      {"scale", [](DynamicState& s) { s.scale = 0.0; }},
      {"scale", [](DynamicState& s) { s.scale = kInfinite; }},
      {"scale", [](DynamicState& s) { s.scale = 0.5; }},
      {"steps_since_overflow",
       [](DynamicState& s) { s.steps_since_overflow = -1; }},
      {"hysteresis_left", [](DynamicState& s) { s.hysteresis_left = 0; }},
      {"hysteresis_left", [](DynamicState& s) { s.hysteresis_left = 3; }},
      {"consecutive_skips", [](DynamicState& s) { s.consecutive_skips = -1; }},
      {"consecutive_skips", [](DynamicState& s) { s.consecutive_skips = 1; }},
  };
  DynamicOptions options;
  options.min_scale = 1.0;
  options.hysteresis = 2;
  EXPECT_THAT(LossScaler::Dynamic(options, DynamicState()), IsOk());
  for (const BadState& bad : table) {
    DynamicState state;
    bad.change(state);
    const absl::Status status = LossScaler::Dynamic(options, state).status();
    EXPECT_THAT(status, IsError(Reason::kInvalidScaler)) << bad.field;
    EXPECT_EQ(MetadataOf(status)["field"], bad.field) << status;
  }
}

// ---- Values.

TEST(ValueTest, AScalerInMidLifeGoesOnWhereItWas) {
  LossScaler original = MustMake(Hysteresis(HysteresisRefill::kOnGrowth));
  for (bool overflow : {false, true, false, false}) original.Update(overflow);
  LossScaler copy =
      MustMake(original.dynamic_options(), original.dynamic_state());
  EXPECT_EQ(copy, original);
  EXPECT_EQ(Scales(copy, "0110001"), Scales(original, "0110001"));
}

TEST(ValueTest, DoesNotRememberWhereItStarted) {
  LossScaler grown = *LossScaler::Dynamic(1024.0, 2.0, 1);
  grown.Update(false);
  EXPECT_EQ(grown, *LossScaler::Dynamic(2048.0, 2.0, 1));
}

TEST(ValueTest, ConfigurationIsWhatUpdatesDoNotChange) {
  LossScaler scaler = MustMake(Hysteresis(HysteresisRefill::kOnGrowth));
  const LossScaler start = scaler;
  scaler.Update(true);
  EXPECT_NE(scaler, start);
  EXPECT_TRUE(SameConfiguration(scaler, start));
  EXPECT_FALSE(SameConfiguration(
      scaler, MustMake(Hysteresis(HysteresisRefill::kOnCleanStep))));
  EXPECT_FALSE(SameConfiguration(scaler, LossScaler::None()));
  EXPECT_TRUE(SameConfiguration(LossScaler::None(), LossScaler::None()));
  EXPECT_TRUE(
      SameConfiguration(*LossScaler::Static(2.0), *LossScaler::Static(2.0)));
  EXPECT_FALSE(
      SameConfiguration(*LossScaler::Static(2.0), *LossScaler::Static(4.0)));
}

TEST(ValueTest, PrintsWhatDiffersFromTheDefaults) {
  EXPECT_EQ(LossScaler::None().DebugString(), "None");
  EXPECT_EQ(LossScaler::Static(0.1)->DebugString(), "Static{scale: 0.1}");
  EXPECT_EQ(LossScaler::Dynamic(1024.0, 2.0, 2000)->DebugString(),
            "Dynamic{scale: 1024, growth_factor: 2, backoff_factor: 0.5, "
            "growth_interval: 2000, steps_since_overflow: 0}");
  DynamicOptions options = Hysteresis(HysteresisRefill::kOnCleanStep);
  options.min_scale = 1.0;
  std::ostringstream text;
  text << MustMake(options);
  EXPECT_EQ(text.str(),
            "Dynamic{scale: 65536, growth_factor: 2, backoff_factor: 0.5, "
            "growth_interval: 3, steps_since_overflow: 0, min_scale: 1, "
            "hysteresis: 2, hysteresis_left: 2, hysteresis_refill: "
            "on_clean_step}");
}

}  // namespace
}  // namespace lossscaler
