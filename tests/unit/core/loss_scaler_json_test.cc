// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/loss_scaler_json.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using testing::IsErrorSaying;
using testing::IsOk;
using testing::IsOkAndHolds;

// A Dynamic document with one or more members more.
std::string DynamicWith(const std::string& members) {
  return R"({"Dynamic":{"scale":32768.0,"growth_factor":2.0,)"
         R"("backoff_factor":0.5,"growth_interval":2000,)"
         R"("steps_since_overflow":0)" +
         (members.empty() ? "" : "," + members) + "}}";
}

// A Dynamic document with one of the five base members replaced.
std::string DynamicWithScale(const std::string& scale) {
  return R"({"Dynamic":{"scale":)" + scale +
         R"(,"growth_factor":2.0,"backoff_factor":0.5,)"
         R"("growth_interval":2000,"steps_since_overflow":0}})";
}

std::string DynamicWithInterval(const std::string& interval) {
  return R"({"Dynamic":{"scale":1.0,"growth_factor":2.0,)"
         R"("backoff_factor":0.5,"growth_interval":)" +
         interval + R"(,"steps_since_overflow":0}})";
}

// ---- Writing. These texts are those of the externally tagged enum that
// existing checkpoints hold.

TEST(ToJsonTest, WritesTheTaggedForm) {
  EXPECT_EQ(ToJson(LossScaler::None()), "\"None\"");
  EXPECT_EQ(ToJson(*LossScaler::Static(1024.0)),
            R"({"Static":{"scale":1024.0}})");
  EXPECT_EQ(ToJson(*LossScaler::Dynamic(32768.0, 2.0, 2000)), DynamicWith(""));
}

TEST(ToJsonTest, WritesFloat32InItsShortestForm) {
  EXPECT_EQ(ToJson(*LossScaler::Static(0.1)), R"({"Static":{"scale":0.1}})");
  EXPECT_EQ(ToJson(*LossScaler::Static(16777216.0)),
            R"({"Static":{"scale":16777216.0}})");
  // The smallest and the largest scale, as 8 digits tell them apart.
  EXPECT_EQ(ToJson(*LossScaler::Static(0x1p-126)),
            R"({"Static":{"scale":1.1754944e-38}})");
  EXPECT_EQ(ToJson(*LossScaler::Static(0x1.fffffep127)),
            R"({"Static":{"scale":3.4028235e+38}})");
}

TEST(ToJsonTest, WritesEachNumberInItsOwnPrecision) {
  DynamicOptions options;
  options.initial_scale = 0.1;
  options.growth_factor = 1.1;
  options.backoff_factor = 0.7;
  options.growth_interval = 1;
  const std::string text =
      R"({"Dynamic":{"scale":0.1,"growth_factor":1.1,"backoff_factor":0.7,)"
      R"("growth_interval":1,"steps_since_overflow":0)";
  EXPECT_EQ(ToJson(*LossScaler::Dynamic(options)), text + "}}");
  options.precision = StatePrecision::kFloat32Float64Factors;
  EXPECT_EQ(ToJson(*LossScaler::Dynamic(options)),
            text + R"(,"precision":"float32_float64_factors"}})");
  options.precision = StatePrecision::kFloat64;
  EXPECT_EQ(ToJson(*LossScaler::Dynamic(options)),
            text + R"(,"precision":"float64"}})");
}

TEST(ToJsonTest, WritesEveryKnobThatDiffersAndItsCounters) {
  DynamicOptions options;
  options.min_scale = 1.0;
  options.max_scale = 16777216.0;
  options.hysteresis = 3;
  options.hysteresis_refill = HysteresisRefill::kOnCleanStepOrBackoff;
  options.growth_count = GrowthCount::kOneMoreAlways;
  options.precision = StatePrecision::kFloat64;
  options.finite_guard = FiniteGuard::kClamp;
  options.unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal;
  options.floor_action = FloorAction::kMark;
  options.max_consecutive_skips = 50;
  DynamicState state;
  state.scale = 32768.0;
  state.hysteresis_left = 2;
  state.consecutive_skips = 4;
  const LossScaler scaler = *LossScaler::Dynamic(options, state);
  const std::string text = DynamicWith(
      R"("min_scale":1.0,"max_scale":16777216.0,"hysteresis":3,)"
      R"("hysteresis_left":2,"hysteresis_refill":"on_clean_step_or_backoff",)"
      R"("growth_count":"one_more_always","precision":"float64",)"
      R"("finite_guard":"clamp",)"
      R"("unscale_arithmetic":"multiply_by_reciprocal","floor_action":"mark",)"
      R"("max_consecutive_skips":50,"consecutive_skips":4)");
  EXPECT_EQ(ToJson(scaler), text);
  EXPECT_THAT(LossScalerFromJson(text), IsOkAndHolds(scaler));
}

// ---- Reading.

TEST(FromJsonTest, ReadsTheTaggedForm) {
  EXPECT_THAT(LossScalerFromJson("\"None\""), IsOkAndHolds(LossScaler::None()));
  EXPECT_THAT(LossScalerFromJson(R"({"Static":{"scale":1024.0}})"),
              IsOkAndHolds(*LossScaler::Static(1024.0)));
  EXPECT_THAT(LossScalerFromJson(DynamicWith("")),
              IsOkAndHolds(*LossScaler::Dynamic(32768.0, 2.0, 2000)));
}

TEST(FromJsonTest, ReadsOtherSpellings) {
  const LossScaler expected = *LossScaler::Static(1024.0);
  for (const char* text :
       {R"({"Static":{"scale":1024}})", R"({"Static":{"scale":1.024e3}})",
        " {\n\t\"Static\" : { \"scale\" : 1024.00 } }\r\n",
        R"({"\u0053tatic":{"sc\u0061le":1024}})"}) {
    EXPECT_THAT(LossScalerFromJson(text), IsOkAndHolds(expected)) << text;
  }
  EXPECT_THAT(LossScalerFromJson(
                  R"({"Dynamic":{"steps_since_overflow":0,"growth_interval":7,)"
                  R"("backoff_factor":0.5,"growth_factor":2,"scale":8}})"),
              IsOkAndHolds(*LossScaler::Dynamic(8.0, 2.0, 7)));
}

TEST(FromJsonTest, ReadsKnobsAtTheirDefaults) {
  EXPECT_THAT(
      LossScalerFromJson(DynamicWith(
          R"("hysteresis":1,"hysteresis_left":1,"precision":"float32",)"
          R"("hysteresis_refill":"on_growth","growth_count":"interval",)"
          R"("finite_guard":"hold","unscale_arithmetic":"divide",)"
          R"("floor_action":"hold","max_consecutive_skips":0,)"
          R"("consecutive_skips":0)")),
      IsOkAndHolds(*LossScaler::Dynamic(32768.0, 2.0, 2000)));
}

TEST(FromJsonTest, MissingCountersAreFullAndZero) {
  const absl::StatusOr<LossScaler> scaler = LossScalerFromJson(
      DynamicWith(R"("hysteresis":4,"max_consecutive_skips":9)"));
  ASSERT_THAT(scaler, IsOk());
  EXPECT_EQ(scaler->dynamic_state().hysteresis_left, 4);
  EXPECT_EQ(scaler->dynamic_state().consecutive_skips, 0);
}

TEST(FromJsonTest, RoundsOnce) {
  // A little more than halfway from 1 to the next float32, 1 + 2^-23. As a
  // double it is exactly halfway, and would then be rounded down to 1.
  const absl::StatusOr<LossScaler> scaler = LossScalerFromJson(
      R"({"Static":{"scale":1.00000005960464477539062500001}})");
  ASSERT_THAT(scaler, IsOk());
  EXPECT_EQ(scaler->scale(), 0x1.000002p0);
}

TEST(FromJsonTest, ReadsFactorsInThePrecisionThatComesLater) {
  const absl::StatusOr<LossScaler> scaler = LossScalerFromJson(
      R"({"Dynamic":{"scale":0.1,"growth_factor":1.1,"backoff_factor":0.7,)"
      R"("growth_interval":1,"steps_since_overflow":0,)"
      R"("precision":"float32_float64_factors"}})");
  ASSERT_THAT(scaler, IsOk());
  EXPECT_EQ(scaler->scale(), static_cast<double>(0.1f));
  EXPECT_EQ(scaler->dynamic_options().growth_factor, 1.1);
  EXPECT_EQ(scaler->dynamic_options().backoff_factor, 0.7);
}

TEST(FromJsonTest, ReadsTheLargestInteger) {
  EXPECT_THAT(LossScalerFromJson(DynamicWithInterval("9223372036854775807")),
              IsOkAndHolds(*LossScaler::Dynamic(
                  1.0, 2.0, std::numeric_limits<std::int64_t>::max())));
}

struct BadText {
  std::string text;
  const char* says;
};

void ExpectRefused(const BadText& bad) {
  EXPECT_THAT(LossScalerFromJson(bad.text),
              IsErrorSaying(Reason::kInvalidScaler, bad.says))
      << Quoted(bad.text);
}

TEST(FromJsonTest, RefusesTextThatIsNotOneJsonValue) {
  for (const BadText& bad : {
           BadText{"", "byte 1"},
           BadText{" ", "byte 2"},
           BadText{"None", "byte 1"},
           BadText{"\"None\" x", "byte 8"},
           BadText{"\"None\"\"None\"", "byte 12"},
           BadText{R"({"Static":{"scale":1.0}}{)", "byte 25"},
           BadText{R"({"Static":{"scale":1.0})", "byte 24"},
           BadText{R"({"Static":{"scale":1.0,}})", "byte 24"},
           BadText{"{'Static':{'scale':1.0}}", "byte 2"},
           BadText{R"({"Static":{"scale":NaN}})", "byte 20"},
           BadText{R"({"Static":{"scale":inf}})", "byte 20"},
           BadText{R"({"Static":{"scale":-Infinity}})", "byte 21"},
           BadText{R"({"Static":{"scale":1e400}})", "number overflow"},
           BadText{R"({"Static":{"scale":.5}})", "byte 20"},
           BadText{R"({"Static":{"scale":0x10}})", "byte 21"},
           BadText{R"({"Static":{"scale":1} /* one */ })", "byte 23"},
           BadText{"\"N\xff\"", "ill-formed UTF-8"},
           BadText{"{\"\xc3(\":1}", "ill-formed UTF-8"},
           BadText{std::string("\"None\"\0x", 8), "byte 7 is NUL"},
       }) {
    ExpectRefused(bad);
  }
}

TEST(FromJsonTest, RefusesWhatIsNotAVariant) {
  for (const BadText& bad : {
           BadText{"\"none\"", "the value is \"none\""},
           BadText{"\"Static\"", "the value is \"Static\""},
           BadText{"null", "the value is null"},
           BadText{"true", "the value is true"},
           BadText{"1024.0", "the value is the number 1024.0"},
           BadText{"[]", "the value is an array"},
           BadText{"{}", "the value is an empty object"},
           BadText{R"({"None":null})", "unknown variant \"None\""},
           BadText{R"({"Adaptive":{}})", "unknown variant \"Adaptive\""},
           BadText{R"({"static":{"scale":1}})", "unknown variant \"static\""},
           BadText{R"({"scale":1})", "unknown variant \"scale\""},
           BadText{R"({"Static":null})", "Static is null"},
           BadText{R"({"Static":1024.0})", "Static is the number 1024.0"},
           BadText{R"({"Static":"x"})", "Static is \"x\""},
           BadText{R"({"Static":[1.0]})", "Static is an array"},
           BadText{R"({"Static":{"scale":1},"Static":{"scale":1}})",
                   "second member \"Static\""},
           BadText{R"({"Static":{"scale":1},"Dynamic":{}})",
                   "second member \"Dynamic\""},
       }) {
    ExpectRefused(bad);
  }
}

TEST(FromJsonTest, RefusesMembersThatAreMissingUnknownOrDoubled) {
  for (const BadText& bad : {
           BadText{R"({"Static":{}})", "Static lacks the member scale"},
           BadText{R"({"Dynamic":{}})", "Dynamic lacks the member scale"},
           BadText{R"({"Dynamic":{"scale":1,"growth_factor":2,)"
                   R"("backoff_factor":0.5,"growth_interval":1}})",
                   "Dynamic lacks the member steps_since_overflow"},
           BadText{R"({"Static":{"scale":1,"growth_factor":2}})",
                   "Static has the unknown member \"growth_factor\""},
           BadText{DynamicWith(R"("scal":1)"), "unknown member \"scal\""},
           BadText{DynamicWith(R"("initial_scale":1)"),
                   "unknown member \"initial_scale\""},
           BadText{DynamicWith(R"("":1)"), "unknown member \"\""},
           BadText{R"({"Static":{"scale":1,"scale":1}})",
                   "Static.scale occurs twice"},
           BadText{DynamicWith(R"("hysteresis":1,"hysteresis":2)"),
                   "Dynamic.hysteresis occurs twice"},
       }) {
    ExpectRefused(bad);
  }
}

TEST(FromJsonTest, RefusesValuesOfTheWrongTypeOrRange) {
  for (const BadText& bad : {
           BadText{DynamicWithScale("null"), "Dynamic.scale is null"},
           BadText{DynamicWithScale("true"), "Dynamic.scale is true"},
           BadText{DynamicWithScale("\"8\""), "Dynamic.scale is \"8\""},
           BadText{DynamicWithScale("{}"), "Dynamic.scale is an object"},
           BadText{DynamicWithScale("[8]"), "Dynamic.scale is an array"},
           BadText{DynamicWithScale("1e39"), "Dynamic.scale is 1e39"},
           BadText{DynamicWithScale("1e-60"), "Dynamic.scale is 1e-60"},
           BadText{DynamicWithScale("0"), "scale is 0; it must be"},
           BadText{DynamicWithScale("-1.0"), "scale is -1; it must be"},
           BadText{DynamicWithInterval("2000.0"),
                   "Dynamic.growth_interval is 2000.0; expected an integer"},
           BadText{DynamicWithInterval("2e3"),
                   "Dynamic.growth_interval is 2e3; expected an integer"},
           BadText{DynamicWithInterval("9223372036854775808"),
                   "Dynamic.growth_interval is 9223372036854775808"},
           BadText{DynamicWithInterval("123456789012345678901234567890"),
                   "is 123456789012345678901234567890; expected an integer"},
           BadText{DynamicWithInterval("\"2000\""),
                   "Dynamic.growth_interval is \"2000\""},
           BadText{DynamicWithInterval("0"), "growth_interval is 0"},
           BadText{DynamicWith(R"("precision":"Float32")"),
                   "Dynamic.precision is \"Float32\"; expected one of float32, "
                   "float32_float64_factors, float64"},
           BadText{DynamicWith(R"("precision":0)"), "Dynamic.precision is 0"},
           BadText{DynamicWith(R"("min_scale":null)"),
                   "Dynamic.min_scale is null"},
           BadText{DynamicWith(R"("min_scale":65536)"),
                   "within min_scale and max_scale"},
           BadText{DynamicWith(R"("hysteresis_left":2)"), "hysteresis_left"},
           BadText{DynamicWith(R"("consecutive_skips":1)"),
                   "consecutive_skips"},
       }) {
    ExpectRefused(bad);
  }
}

TEST(FromJsonTest, DeepNestingIsRefusedAtItsFirstLevel) {
  ExpectRefused({std::string(1 << 22, '['), "the value is an array"});
  std::string objects;
  for (int i = 0; i < 1 << 18; ++i) objects += R"({"Dynamic":)";
  ExpectRefused({objects, "Dynamic has the unknown member \"Dynamic\""});
}

TEST(FromJsonTest, AHugeTextMakesASmallError) {
  const std::string huge(1 << 22, 'x');
  for (const std::string& text :
       {"\"" + huge + "\"", "\"" + huge, "{\"" + huge + "\":1}",
        R"({"Static":{")" + huge + "\":1}}",
        DynamicWith("\"precision\":\"" + huge + "\""),
        R"({"Static":{"scale":)" + std::string(1 << 22, '1') + ".0}}",
        R"({"Static":{"scale":0.)" + std::string(1 << 22, '0') + "1}}",
        R"({"Static":0.)" + std::string(1 << 22, '0') + "1}",
        DynamicWithInterval(std::string(300, '1'))}) {
    const absl::Status status = LossScalerFromJson(text).status();
    EXPECT_THAT(status, testing::IsError(Reason::kInvalidScaler));
    EXPECT_LT(status.message().size(), 1000u);
    for (const auto& [name, value] : MetadataOf(status)) {
      EXPECT_LT(value.size(), 1000u) << name;
    }
  }
}

}  // namespace
}  // namespace lossscaler
