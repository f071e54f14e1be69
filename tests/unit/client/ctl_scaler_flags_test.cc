// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/presets.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::HasSubstr;

class CtlScalerFlagsTest : public CtlTest {
 protected:
  // The scaler that `create a` asks for with `flags`.
  LossScaler Created(std::vector<const char*> flags) {
    LossScaler created;
    EXPECT_CALL(*connection_, CreateSession)
        .WillOnce([&](const std::string&, const LossScaler& scaler, IfExists) {
          created = scaler;
          return Info("a");
        });
    flags.insert(flags.begin(), {"create", "a"});
    EXPECT_EQ(Run(flags), kDone) << err_.str();
    return created;
  }

  // The line that refuses `flags`.
  std::string Refused(std::vector<const char*> flags) {
    flags.insert(flags.begin(), {"create", "a"});
    EXPECT_EQ(Run(flags), kWrongUsage);
    return err_.str();
  }
};

TEST_F(CtlScalerFlagsTest, MakesEveryKind) {
  EXPECT_EQ(Created({"--none"}), LossScaler::None());
  EXPECT_EQ(Created({"--static", "8"}), *LossScaler::Static(8));
  EXPECT_EQ(Created({"--dynamic"}), *LossScaler::Dynamic(DynamicOptions()));
}

struct Knob {
  const char* flag;
  const char* value;
  void (*change)(DynamicOptions* options);
};

using Options = DynamicOptions;

constexpr Knob kKnobs[] = {
    {"--init-scale", "1024", [](Options* o) { o->initial_scale = 1024; }},
    {"--growth-factor", "1.5", [](Options* o) { o->growth_factor = 1.5; }},
    {"--backoff-factor", "0.25", [](Options* o) { o->backoff_factor = 0.25; }},
    {"--growth-interval", "10", [](Options* o) { o->growth_interval = 10; }},
    {"--min-scale", "4", [](Options* o) { o->min_scale = 4; }},
    {"--max-scale", "1e6", [](Options* o) { o->max_scale = 1e6; }},
    {"--hysteresis", "3", [](Options* o) { o->hysteresis = 3; }},
    {"--max-consecutive-skips", "5",
     [](Options* o) { o->max_consecutive_skips = 5; }},
    {"--hysteresis-refill", "on_growth", [](Options*) {}},
    {"--hysteresis-refill", "on_clean_step",
     [](Options* o) { o->hysteresis_refill = HysteresisRefill::kOnCleanStep; }},
    {"--hysteresis-refill", "on_clean_step_or_backoff",
     [](Options* o) {
       o->hysteresis_refill = HysteresisRefill::kOnCleanStepOrBackoff;
     }},
    {"--growth-count", "one_more_after_overflow",
     [](Options* o) { o->growth_count = GrowthCount::kOneMoreAfterOverflow; }},
    {"--growth-count", "one_more_always",
     [](Options* o) { o->growth_count = GrowthCount::kOneMoreAlways; }},
    {"--precision", "float32_float64_factors",
     [](Options* o) { o->precision = StatePrecision::kFloat32Float64Factors; }},
    {"--precision", "float64",
     [](Options* o) { o->precision = StatePrecision::kFloat64; }},
    {"--finite-guard", "clamp",
     [](Options* o) { o->finite_guard = FiniteGuard::kClamp; }},
    {"--unscale-arithmetic", "multiply_by_reciprocal",
     [](Options* o) {
       o->unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal;
     }},
    {"--floor-action", "mark",
     [](Options* o) { o->floor_action = FloorAction::kMark; }},
};

TEST_F(CtlScalerFlagsTest, EveryKnobReachesItsField) {
  for (const Knob& knob : kKnobs) {
    DynamicOptions expected;
    knob.change(&expected);
    EXPECT_EQ(Created({"--dynamic", knob.flag, knob.value}),
              *LossScaler::Dynamic(expected))
        << knob.flag << " " << knob.value;
  }
}

TEST_F(CtlScalerFlagsTest, EveryKnobNeedsADynamicScaler) {
  for (const Knob& knob : kKnobs) {
    const std::string expected = std::string("lossscalerctl: ") + knob.flag +
                                 " needs --dynamic or --preset; see "
                                 "`lossscalerctl create --help`\n";
    EXPECT_EQ(Refused({"--static", "8", knob.flag, knob.value}), expected);
    EXPECT_EQ(Refused({knob.flag, knob.value, "--none"}), expected);
  }
}

TEST_F(CtlScalerFlagsTest, EveryKnobRefusesWhatItCannotBe) {
  for (const Knob& knob : kKnobs) {
    EXPECT_THAT(Refused({"--dynamic", knob.flag, "8q"}), HasSubstr(knob.flag));
  }
  EXPECT_THAT(Refused({"--dynamic", "--growth-count", "always"}),
              HasSubstr("interval, one_more_after_overflow, one_more_always"));
  EXPECT_THAT(Refused({"--dynamic", "--growth-interval", "1.5"}),
              HasSubstr("whole number"));
  EXPECT_THAT(Refused({"--dynamic", "--init-scale", "1e999"}),
              HasSubstr("float64"));
}

TEST_F(CtlScalerFlagsTest, StartsFromEveryPreset) {
  for (const std::string_view name : PresetNames()) {
    EXPECT_EQ(Created({"--preset", std::string(name).c_str()}),
              *LossScaler::Dynamic(*PresetOptions(name)))
        << name;
  }
}

TEST_F(CtlScalerFlagsTest, KnobsChangeAPresetWhereverTheyStand) {
  DynamicOptions expected = *PresetOptions("megatron");
  expected.initial_scale = 4096;
  expected.hysteresis = 4;
  EXPECT_EQ(Created({"--init-scale", "4096", "--preset", "megatron",
                     "--hysteresis", "4"}),
            *LossScaler::Dynamic(expected));
}

TEST_F(CtlScalerFlagsTest, RefusesAnUnknownPreset) {
  EXPECT_THAT(Refused({"--preset", "caffe"}), HasSubstr("megatron"));
}

TEST_F(CtlScalerFlagsTest, ExactlyOneKindIsGiven) {
  EXPECT_THAT(Refused({}), HasSubstr("--none"));
  EXPECT_THAT(Refused({"--none", "--dynamic"}), HasSubstr("2 were given"));
  EXPECT_THAT(Refused({"--dynamic", "--preset", "flax"}),
              HasSubstr("2 were given"));
  EXPECT_THAT(Refused({"--static", "8", "--none"}), HasSubstr("2 were given"));
}

TEST_F(CtlScalerFlagsTest, ScalersThatCannotBeAreBadInput) {
  EXPECT_THAT(Refused({"--static", "0"}), HasSubstr("INVALID_SCALER: "));
  EXPECT_THAT(Refused({"--static", "inf"}), HasSubstr("INVALID_SCALER: "));
  EXPECT_THAT(Refused({"--dynamic", "--growth-factor", "0.5"}),
              HasSubstr("growth_factor"));
  EXPECT_THAT(Refused({"--dynamic", "--min-scale", "8", "--max-scale", "4"}),
              HasSubstr("INVALID_SCALER: "));
}

}  // namespace
}  // namespace lossscaler::ctl
