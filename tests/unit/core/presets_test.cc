// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/presets.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "nlohmann/json.hpp"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using testing::IsErrorSaying;

// Traces of other systems' rules, computed from their sources by an
// independent program: {"traces": {system: {sequence: [[scale, "apply"]...]}}}.
nlohmann::json Golden() {
  std::ifstream file(LOSSSCALER_TEST_DATA "/policy-golden.json");
  return nlohmann::json::parse(file);
}

struct GoldenPreset {
  const char* preset;
  // What the trace's name says beyond the preset's defaults.
  std::function<void(DynamicOptions&)> change;
};

// Every trace of the file that the knobs can express.
std::map<std::string, GoldenPreset> GoldenPresets() {
  const auto none = [](DynamicOptions&) {};
  const auto hysteresis = [](std::int64_t value) {
    return [value](DynamicOptions& options) { options.hysteresis = value; };
  };
  return {
      {"tensorlogic", {"tensorlogic", none}},
      {"pytorch", {"pytorch", none}},
      {"apex_amp", {"apex_amp", none}},
      {"apex_fp16_utils", {"apex_fp16_utils", none}},
      {"apex_hysteresis_h2", {"apex_hysteresis", hysteresis(2)}},
      {"deepspeed_zero_h1", {"deepspeed_zero", hysteresis(1)}},
      {"deepspeed_zero_h2", {"deepspeed_zero", hysteresis(2)}},
      {"deepspeed_zero_h2_consecutive",
       {"deepspeed_zero_consecutive", hysteresis(2)}},
      {"deepspeed_fused", {"deepspeed_fused", none}},
      {"megatron_h2", {"megatron", hysteresis(2)}},
      {"colossal_h2", {"colossal", hysteresis(2)}},
      {"fairseq_tol0", {"fairseq", none}},
      {"tf_keras", {"tf_keras", none}},
      {"keras3", {"keras3", none}},
      {"jmp", {"jmp", none}},
      {"flax", {"flax", none}},
      {"paddle_d1", {"paddle", hysteresis(1)}},
      {"paddle_d2", {"paddle", hysteresis(2)}},
      {"paddle_kernel_d2", {"paddle_kernel", hysteresis(2)}},
      {"os2s_backoff_max65536",
       {"openseq2seq_backoff",
        [](DynamicOptions& options) { options.max_scale = 65536.0; }}},
      {"mindspore_manager", {"mindspore_manager", none}},
      {"ort", {"ort", none}},
  };
}

void ExpectTrace(LossScaler scaler, const nlohmann::json& sequence,
                 const nlohmann::json& trace) {
  ASSERT_EQ(sequence.size(), trace.size());
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const ScalerUpdate update = scaler.Update(sequence[i].get<int>() == 1);
    EXPECT_EQ(update.scale_after, trace[i][0].get<double>()) << "step " << i;
    EXPECT_EQ(update.apply, trace[i][1] == "apply") << "step " << i;
  }
}

TEST(PresetsTest, ReproduceEveryTraceOfTheirSystem) {
  const nlohmann::json golden = Golden();
  for (const auto& [system, expressed] : GoldenPresets()) {
    absl::StatusOr<DynamicOptions> options = PresetOptions(expressed.preset);
    ASSERT_TRUE(options.ok()) << options.status();
    expressed.change(*options);
    options->initial_scale = golden["start_scale"];
    options->growth_interval = golden["window"];
    const absl::StatusOr<LossScaler> scaler = LossScaler::Dynamic(*options);
    ASSERT_TRUE(scaler.ok()) << system << ": " << scaler.status();
    for (const auto& [name, trace] : golden["traces"].at(system).items()) {
      SCOPED_TRACE(system + " " + name);
      ExpectTrace(*scaler, golden["sequences"].at(name), trace);
    }
  }
}

TEST(PresetsTest, TheBaseConstructorIsTensorlogic) {
  const nlohmann::json golden = Golden();
  const absl::StatusOr<LossScaler> scaler =
      LossScaler::Dynamic(golden["start_scale"], 2.0, golden["window"]);
  ASSERT_TRUE(scaler.ok()) << scaler.status();
  ASSERT_EQ(golden["traces"].at("tensorlogic").size(), 7u);
  for (const auto& [name, trace] : golden["traces"]["tensorlogic"].items()) {
    SCOPED_TRACE(name);
    ExpectTrace(*scaler, golden["sequences"].at(name), trace);
  }
}

// The file and the list above may not drift apart unnoticed.
TEST(PresetsTest, OnlyTheSystemsThatHeadersNameAreNotExpressed) {
  const nlohmann::json golden = Golden();
  const std::map<std::string, GoldenPreset> expressed = GoldenPresets();
  std::set<std::string> rest;
  for (const auto& [system, traces] : golden.at("traces").items()) {
    if (expressed.count(system) == 0) rest.insert(system);
  }
  EXPECT_THAT(rest,
              ::testing::ElementsAre("fairseq_tol25_w100", "metaseq", "mxnet"));
}

TEST(PresetsTest, EveryNameIsAValidConfigurationOfItsOwn) {
  EXPECT_TRUE(std::is_sorted(PresetNames().begin(), PresetNames().end()));
  EXPECT_EQ(
      std::set<std::string_view>(PresetNames().begin(), PresetNames().end())
          .size(),
      PresetNames().size());
  for (std::string_view name : PresetNames()) {
    const absl::StatusOr<DynamicOptions> options = PresetOptions(name);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_TRUE(LossScaler::Dynamic(*options).ok()) << name;
  }
}

TEST(PresetsTest, HaveTheirSystemsDefaults) {
  const DynamicOptions pytorch = *PresetOptions("pytorch");
  EXPECT_EQ(pytorch.initial_scale, 65536.0);
  EXPECT_EQ(pytorch.growth_interval, 2000);
  EXPECT_EQ(pytorch.min_scale, std::nullopt);
  const DynamicOptions megatron = *PresetOptions("megatron");
  EXPECT_EQ(megatron.initial_scale, 4294967296.0);
  EXPECT_EQ(megatron.growth_interval, 1000);
  EXPECT_EQ(megatron.min_scale, 1.0);
  EXPECT_EQ(megatron.hysteresis, 2);
  const DynamicOptions ort = *PresetOptions("ort");
  EXPECT_EQ(ort.min_scale, 1.0);
  EXPECT_EQ(ort.max_scale, 16777216.0);
  const DynamicOptions colossal = *PresetOptions("colossal");
  EXPECT_EQ(colossal.max_scale, 4294967296.0);
  const DynamicOptions openseq2seq = *PresetOptions("openseq2seq_backoff");
  EXPECT_EQ(openseq2seq.initial_scale, 16384.0);
  EXPECT_EQ(openseq2seq.max_scale, 16384.0);
}

TEST(PresetsTest, DeepspeedMarksTheStepAtWhichItWouldRaise) {
  DynamicOptions options = *PresetOptions("deepspeed_zero");
  options.initial_scale = 4.0;
  options.hysteresis = 1;
  LossScaler scaler = *LossScaler::Dynamic(options);
  EXPECT_FALSE(scaler.Update(true).floored);  // 2
  EXPECT_FALSE(scaler.Update(true).floored);  // 1, by an exact backoff.
  const ScalerUpdate update = scaler.Update(true);
  EXPECT_TRUE(update.floored);
  EXPECT_EQ(update.scale_after, 1.0);
}

TEST(PresetsTest, FairseqMarksTheStepAtWhichItWouldRaise) {
  DynamicOptions options = *PresetOptions("fairseq");
  options.initial_scale = 0.000244140625;  // 2^-12.
  LossScaler scaler = *LossScaler::Dynamic(options);
  const ScalerUpdate first = scaler.Update(true);
  EXPECT_EQ(first.scale_after, 0.0001220703125);
  EXPECT_FALSE(first.floored);
  EXPECT_TRUE(scaler.Update(true).floored);
}

// P10: s = 4e-4 -> 2e-4 -> 1e-4, which is s <= min: it raises there.
TEST(PresetsTest, FairseqRaisesAtItsMinimumAndNotOnlyBelow) {
  DynamicOptions options = *PresetOptions("fairseq");
  options.initial_scale = 4e-4;
  LossScaler scaler = *LossScaler::Dynamic(options);
  const ScalerUpdate first = scaler.Update(true);
  EXPECT_EQ(first.scale_after, 2e-4);
  EXPECT_FALSE(first.floored);
  const ScalerUpdate second = scaler.Update(true);
  EXPECT_TRUE(second.floored);
  EXPECT_EQ(second.scale_after, std::nextafter(1e-4, 1.0));
}

TEST(PresetsTest, MindsporeStallsAtTheThousandAndFirstOverflow) {
  LossScaler scaler = *LossScaler::Dynamic(*PresetOptions("mindspore_manager"));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(scaler.Update(true).stalled) << i;
  }
  EXPECT_TRUE(scaler.Update(true).stalled);
}

// From 2^126 with interval 1: torch, TF and jmp hold 2^127, flax goes on to
// the largest float32.
TEST(PresetsTest, StopAtTheTopAsTheirSystemDoes) {
  const auto grown = [](std::string_view name) {
    DynamicOptions options = *PresetOptions(name);
    options.initial_scale = 0x1p126;
    options.growth_interval = 1;
    LossScaler scaler = *LossScaler::Dynamic(options);
    for (int i = 0; i < 4; ++i) scaler.Update(false);
    return scaler.scale();
  };
  EXPECT_EQ(grown("pytorch"), 0x1p127);
  EXPECT_EQ(grown("tf_keras"), 0x1p127);
  EXPECT_EQ(grown("jmp"), 0x1p127);
  EXPECT_EQ(grown("flax"), 0x1.fffffep127);
}

TEST(PresetsTest, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT(PresetOptions("metaseq"),
              IsErrorSaying(Reason::kInvalidScaler,
                            "there is no preset \"metaseq\"; use one of "
                            "apex_amp, apex_fp16_utils, "));
  EXPECT_THAT(PresetOptions(""),
              IsErrorSaying(Reason::kInvalidScaler, "tf_keras"));
}

}  // namespace
}  // namespace lossscaler
