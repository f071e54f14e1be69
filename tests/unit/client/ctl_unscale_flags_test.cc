// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "ctl/unscale_flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"
#include "testing/status_matchers.h"

namespace lossscaler::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `arguments` follow "unscale".
absl::StatusOr<UnscaleRequest> Parsed(std::vector<std::string> arguments,
                                      bool progress_by_default = false) {
  CLI::App app;
  UnscaleFlags flags;
  AddUnscaleFlags(&app, &flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return MakeUnscaleRequest(flags, progress_by_default);
}

TEST(CtlUnscaleFlagsTest, SaysOnlyWhatIsGiven) {
  const auto request = Parsed({"a/b", "x.npy", "-o", "y.npy"});
  ASSERT_THAT(request, testing::IsOk());
  EXPECT_EQ(request->session, "a/b");
  EXPECT_EQ(request->step, std::nullopt);
  EXPECT_THAT(request->inputs, ElementsAre("x.npy"));
  EXPECT_EQ(request->output, "y.npy");
  EXPECT_FALSE(request->keep_type);
  EXPECT_FALSE(request->skip_statistics);
  EXPECT_FALSE(request->fail_on_overflow);
  EXPECT_FALSE(request->progress);
}

TEST(CtlUnscaleFlagsTest, EveryFlagReachesItsField) {
  const auto request = Parsed({"a", "1.npy", "2.npy", "--step", "7", "--output",
                               "out/", "--keep-type"});
  ASSERT_THAT(request, testing::IsOk());
  EXPECT_THAT(request->inputs, ElementsAre("1.npy", "2.npy"));
  EXPECT_EQ(request->step, 7);
  EXPECT_EQ(request->output, "out/");
  EXPECT_TRUE(request->keep_type);
  EXPECT_TRUE(
      Parsed({"a", "1.npy", "-o", "o", "--no-statistics"})->skip_statistics);
  EXPECT_TRUE(Parsed({"a", "1.npy", "-o", "o", "--fail-on-overflow"})
                  ->fail_on_overflow);
  EXPECT_EQ(Parsed({"a", "1.npy", "--check-only"})->output, "");
}

TEST(CtlUnscaleFlagsTest, ProgressFollowsItsDefaultUnlessToldOtherwise) {
  const std::vector<std::string> base = {"a", "1.npy", "--check-only"};
  std::vector<std::string> yes = base;
  yes.push_back("--progress");
  std::vector<std::string> no = base;
  no.push_back("--no-progress");
  for (const bool by_default : {false, true}) {
    EXPECT_EQ(Parsed(base, by_default)->progress, by_default);
    EXPECT_TRUE(Parsed(yes, by_default)->progress);
    EXPECT_FALSE(Parsed(no, by_default)->progress);
  }
}

using CtlUnscaleUsageTest = CtlTest;

TEST_F(CtlUnscaleUsageTest, RefusesContradictions) {
  const auto refused = [this](std::vector<const char*> flags) {
    flags.insert(flags.begin(), {"unscale", "a", "x.npy"});
    EXPECT_EQ(Run(flags), kWrongUsage);
    return err_.str();
  };
  EXPECT_THAT(refused({}), HasSubstr("--check-only"));
  EXPECT_THAT(refused({"-o", "y", "--check-only"}), HasSubstr("2 were given"));
  EXPECT_THAT(refused({"--check-only", "--keep-type"}),
              HasSubstr("--keep-type"));
  EXPECT_THAT(refused({"--check-only", "--progress", "--no-progress"}),
              HasSubstr("--no-progress"));
  // No output is not an output without a name.
  EXPECT_THAT(refused({"-o", ""}), HasSubstr("--output: is empty"));
  EXPECT_THAT(refused({"--check-only", "--step", "x"}), HasSubstr("--step"));
  EXPECT_EQ(Run({"unscale", "a", "--check-only"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("IN.npy"));
}

}  // namespace
}  // namespace lossscaler::ctl
