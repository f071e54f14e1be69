// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Workers with their threads, against the coordinator in memory.

#ifndef LOSSSCALER_TESTS_UNIT_CLIENT_PUMP_WORKER_FIXTURE_H_
#define LOSSSCALER_TESTS_UNIT_CLIENT_PUMP_WORKER_FIXTURE_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/run_step.h"
#include "lossscaler/client/worker_session.h"
#include "testing/status_matchers.h"
#include "testing/worker_server.h"

namespace lossscaler {

class WorkerTest : public ::testing::Test {
 protected:
  void StartServer(const GroupConfig& config) {
    server_ = std::make_shared<testing::WorkerServer>(config);
    dispatcher_.emplace(server_.get());
  }
  WorkerSession Join(const WorkerOptions& options) {
    absl::StatusOr<WorkerSession> worker =
        WorkerSession::Join(server_, "run", options);
    EXPECT_THAT(worker, testing::IsOk());
    return *std::move(worker);
  }
  std::string uid() {
    return server_->With(
        [](testing::GroupDriver& driver) { return driver.state().uid; });
  }

  std::shared_ptr<testing::WorkerServer> server_;
  std::optional<testing::Dispatcher> dispatcher_;
};

// One step with gradients of the given scaled values.
inline absl::StatusOr<StepResult> Train(WorkerSession& worker,
                                        std::vector<float> scaled,
                                        int* applied) {
  const GradientTensor tensors[] = {InPlace("g", std::span(scaled))};
  return RunStep(
      worker, [](WorkerStep&) { return absl::OkStatus(); }, tensors,
      [&](const ApplyPermit&) {
        ++*applied;
        return absl::OkStatus();
      });
}

}  // namespace lossscaler

#endif  // LOSSSCALER_TESTS_UNIT_CLIENT_PUMP_WORKER_FIXTURE_H_
