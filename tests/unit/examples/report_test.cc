// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/report.h"

#include <sstream>

#include "digits_trainer/progress.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lossscaler::digits {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<NamedResult> TwoResults() {
  RunResult float32;
  float32.loss = 0.125;
  float32.accuracy = 0.983;
  float32.steps = 22;
  RunResult dynamic;
  dynamic.loss = 0.25;
  dynamic.accuracy = 0.5;
  dynamic.steps = 22;
  dynamic.float16 = {.underflow = {.nonzero = 8, .lost = 1},
                     .skipped = 3,
                     .final_scale = 68719476736.0};
  return {{.title = "float32", .key = "float32", .result = float32},
          {.title = "float16, Dynamic", .key = "dynamic", .result = dynamic}};
}

TEST(TableTest, HasALineForEachRun) {
  EXPECT_EQ(
      Table(TwoResults()),
      "run                   loss  test accuracy  lost in float16  skipped "
      "steps   final scale\n"
      "float32             0.1250         98.3 %                -            "
      "  -             -\n"
      "float16, Dynamic    0.2500         50.0 %         12.500 %            "
      "  3   68719476736\n");
}

TEST(JsonTest, HasTheNumbersUnrounded) {
  const auto json = nlohmann::json::parse(Json(TwoResults()));
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "float32": {"loss": 0.125, "test_accuracy": 0.983, "steps": 22},
    "dynamic": {"loss": 0.25, "test_accuracy": 0.5, "steps": 22,
                "lost_in_float16": 0.125, "skipped_steps": 3,
                "final_scale": 68719476736.0}})"));
}

Epoch AnEpoch(int number) {
  return {.number = number,
          .of = 3,
          .loss = 0.5,
          .accuracy = 0.25,
          .scale = 1024.0,
          .skipped = 2};
}

TEST(ProgressTest, WritesALineForEachEpochWhereThereIsNoTerminal) {
  std::ostringstream out;
  Progress progress(out, /*terminal=*/false);
  progress.Show("run", AnEpoch(1));
  progress.Show("run", AnEpoch(2));
  EXPECT_EQ(out.str(),
            "run               epoch  1/3  loss  0.5000  test  25.0 %  scale "
            "1024  skipped 2\n"
            "run               epoch  2/3  loss  0.5000  test  25.0 %  scale "
            "1024  skipped 2\n");
  EXPECT_THAT(out.str(), Not(HasSubstr("\r")));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
}

TEST(ProgressTest, RewritesOneLineOnATerminal) {
  std::ostringstream out;
  Progress progress(out, /*terminal=*/true);
  progress.Show("run", AnEpoch(1));
  progress.Show("run", AnEpoch(2));
  EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
  progress.Show("run", AnEpoch(3));
  EXPECT_TRUE(out.str().ends_with("\n"));
}

TEST(ProgressTest, CoversTheRestOfALongerLine) {
  std::ostringstream out;
  Progress progress(out, /*terminal=*/true);
  Epoch longer = AnEpoch(1);
  longer.skipped = 1234567;
  progress.Show("run", longer);
  const std::size_t length = out.str().size();
  progress.Show("run", AnEpoch(2));
  EXPECT_EQ(out.str().size(), 2 * length);
}

TEST(ProgressTest, SaysThingsOnLinesOfTheirOwn) {
  std::ostringstream out;
  Progress progress(out, /*terminal=*/true);
  progress.Show("run", AnEpoch(1));
  progress.Say("waiting for the server ...");
  EXPECT_THAT(out.str(), HasSubstr("skipped 2\nwaiting for the server ...\n"));
}

}  // namespace
}  // namespace lossscaler::digits
