// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/health_monitor.h"

#include <atomic>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

using ::testing::ElementsAre;

class HealthMonitorTest : public ::testing::Test {
 protected:
  absl::Status answer_;
  std::vector<absl::StatusCode> reports_;
  HealthMonitor monitor_{[this] { return answer_; },
                         [this](const absl::Status& status) {
                           reports_.push_back(status.code());
                         }};
};

TEST_F(HealthMonitorTest, ReportsTheFirstAnswer) {
  monitor_.Check();
  EXPECT_THAT(reports_, ElementsAre(absl::StatusCode::kOk));
}

TEST_F(HealthMonitorTest, ReportsAFirstAnswerThatIsBad) {
  answer_ = absl::UnavailableError("disk full");
  monitor_.Check();
  EXPECT_THAT(reports_, ElementsAre(absl::StatusCode::kUnavailable));
}

TEST_F(HealthMonitorTest, ReportsChangesOnly) {
  monitor_.Check();
  monitor_.Check();
  answer_ = absl::UnavailableError("disk full");
  monitor_.Check();
  answer_ = absl::UnavailableError("still full");
  monitor_.Check();
  answer_ = absl::OkStatus();
  monitor_.Check();
  EXPECT_THAT(reports_,
              ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable,
                          absl::StatusCode::kOk));
}

TEST(HealthMonitor, ThreadFollowsTheComponentDownAndUp) {
  Mutex mutex;
  CondVar changed;
  bool healthy = true;
  std::vector<bool> reports;
  HealthMonitor monitor(
      [&] {
        MutexLock lock(&mutex);
        return healthy ? absl::OkStatus() : absl::UnavailableError("down");
      },
      [&](const absl::Status& status) {
        MutexLock lock(&mutex);
        reports.push_back(status.ok());
        changed.SignalAll();
      });
  monitor.Start(absl::Milliseconds(1));
  for (const bool next : {false, true, true}) {
    MutexLock lock(&mutex);
    const std::size_t seen = reports.size();
    while (reports.empty() || reports.back() != healthy) changed.Wait(&mutex);
    EXPECT_LE(seen, reports.size());
    healthy = next;
  }
  monitor.Stop();
  MutexLock lock(&mutex);
  EXPECT_THAT(reports, ElementsAre(true, false, true));
}

TEST(HealthMonitor, StopEndsALongWait) {
  std::atomic<int> checks{0};
  HealthMonitor monitor(
      [&checks] {
        ++checks;
        return absl::OkStatus();
      },
      [](const absl::Status&) {});
  monitor.Start(absl::Hours(1000));
  while (checks == 0) std::this_thread::yield();
  monitor.Stop();
  EXPECT_EQ(checks, 1);
}

TEST(HealthMonitor, StopsBeforeItStarted) {
  HealthMonitor monitor([] { return absl::OkStatus(); },
                        [](const absl::Status&) { FAIL(); });
  monitor.Stop();
}

}  // namespace
}  // namespace lossscaler::server
