// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/progress_bar.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace lossscaler::ctl {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::uint64_t kMiB = 1024 * 1024;

TEST(ProgressText, SaysHowMuchHowFastAndHowLong) {
  // 30 of 120 MiB in 2 s: 15 MiB/s, 90 MiB to go in 6 s.
  EXPECT_EQ(ProgressText(30 * kMiB, 120 * kMiB, absl::Seconds(2), 69),
            "[====>              ]  25%  30.0 MiB/120.0 MiB  15.0 MiB/s  6 s "
            "left");
}

TEST(ProgressText, LongTimesAreInMinutesAndHours) {
  const auto left = [](std::uint64_t bytes) {
    return ProgressText(1, 1 + bytes, absl::Seconds(1), 60);
  };
  EXPECT_THAT(left(59), EndsWith("  59 s left"));
  EXPECT_THAT(left(61), EndsWith("  1:01 min left"));
  EXPECT_THAT(left(3660), EndsWith("  1:01 h left"));
  EXPECT_THAT(left(1'000'000'000), EndsWith("  > 99 h left"));
}

TEST(ProgressText, NothingIsSaidOfSpeedBeforeAnythingMoved) {
  EXPECT_THAT(ProgressText(0, kMiB, absl::Seconds(3), 80),
              EndsWith("  0%  0 B/1.0 MiB"));
  EXPECT_THAT(ProgressText(kMiB, kMiB, absl::ZeroDuration(), 80),
              EndsWith("100%  1.0 MiB/1.0 MiB"));
}

TEST(ProgressText, NothingToDoIsDone) {
  EXPECT_THAT(ProgressText(0, 0, absl::ZeroDuration(), 30),
              EndsWith("] 100%  0 B/0 B"));
}

TEST(ProgressText, NarrowTerminalsGetLess) {
  const auto text = [](int width) {
    return ProgressText(kMiB, 2 * kMiB, absl::Seconds(1), width);
  };
  EXPECT_EQ(text(43), " 50%  1.0 MiB/2.0 MiB  1.0 MiB/s  1 s left");
  EXPECT_EQ(text(42), " 50%  1.0 MiB/2.0 MiB");
  EXPECT_EQ(text(21), " 50%");
  EXPECT_EQ(text(4), "");
  EXPECT_EQ(text(0), "");
}

RC_GTEST_PROP(ProgressTextProperty, NeverWraps,
              (std::uint64_t done, std::uint64_t total)) {
  const int width = *rc::gen::inRange(0, 300);
  const double seconds = *rc::gen::inRange(0, 1'000'000);
  RC_ASSERT(ProgressText(done, total, absl::Seconds(seconds), width).size() <=
            static_cast<std::size_t>(std::max(width - 1, 0)));
}

class ProgressBarTest : public ::testing::Test {
 protected:
  // What was written since the last call.
  std::string Written() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }
  std::ostringstream out_;
  absl::Time now_ = absl::UnixEpoch();
  int width_ = 80;
};

TEST_F(ProgressBarTest, DrawsWhateverItIsTold) {
  ProgressBar bar(
      out_, [this] { return now_; }, [this] { return width_; });
  for (const std::uint64_t done : {0, 1, 100}) {
    bar.Show(done, 100);
    EXPECT_THAT(Written(), StartsWith("\r[")) << done;
  }
}

TEST_F(ProgressBarTest, SaysWhatItDoesAsFarAsItFits) {
  ProgressBar bar(
      out_, [this] { return now_; }, [this] { return width_; });
  bar.Show("reading", 3, 381 * kMiB);
  EXPECT_EQ(Written(), "\rreading 3 files, 381.0 MiB ...");
  width_ = 15;
  bar.Show("writing", 1, 4);
  EXPECT_EQ(Written(), "\rwriting 1 file" + std::string(16, ' '));
}

TEST_F(ProgressBarTest, ShorterLinesCoverLongerOnes) {
  ProgressBar bar(
      out_, [this] { return now_; }, [this] { return width_; });
  now_ += absl::Seconds(1);
  bar.Show(50, 100);
  const std::size_t longer = Written().size();
  width_ = 10;
  bar.Show(100, 100);
  EXPECT_EQ(Written().size(), longer);
}

TEST_F(ProgressBarTest, IsTakenAwayAtTheEnd) {
  {
    ProgressBar bar(
        out_, [this] { return now_; }, [] { return 5; });
    bar.Show(0, 1);
    EXPECT_EQ(Written(), "\r  0%");
  }
  EXPECT_EQ(Written(), "\r    \r");
  {
    ProgressBar never(
        out_, [this] { return now_; }, [] { return 80; });
  }
  EXPECT_THAT(Written(), IsEmpty());
}

}  // namespace
}  // namespace lossscaler::ctl
