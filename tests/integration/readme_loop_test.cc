// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The training loop that README.md shows, against a real server.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/eigen.h"
#include "lossscaler/client/session.h"
#include "lossscaler/core/loss_scaler.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsOk;

// Learns one number, 3, from the loss (weight - 3)^2 / 2.
struct Model {
  float weight = 0;
  float derivative = 0;
  int steps = 0;
  int applied = 0;
  std::vector<float> gradients = {0};

  bool training() const { return steps < 40; }
  float Forward() {
    derivative = weight - 3;
    return derivative * derivative / 2;
  }
  void Backward(float scaled_loss) {
    ++steps;
    // d(loss) = derivative; the scale comes in with the loss.
    const float loss = derivative * derivative / 2;
    const float scale = loss == 0 ? 1 : scaled_loss / loss;
    gradients[0] = steps == 2 ? std::numeric_limits<float>::infinity()
                              : derivative * scale;
  }
  void Step() {
    ++applied;
    weight -= gradients[0] / 2;
  }
};

absl::Status Train(const std::string& address, Model& model) {
  lossscaler::Client client({.address = address});
  absl::StatusOr<lossscaler::Session> session = client.OpenSession(
      "team/project/run", *lossscaler::LossScaler::Dynamic(65536, 2, 2000));
  if (!session.ok()) return session.status();
  while (model.training()) {
    lossscaler::Step step = session->BeginStep();

    absl::StatusOr<float> loss = step.ScaleLoss(model.Forward());
    if (!loss.ok()) return loss.status();
    model.Backward(*loss);  // Gradients come out scaled, as the loss is.

    const lossscaler::GradientTensor tensors[] = {
        lossscaler::InPlace("weights", model.gradients)};
    auto found = step.Unscale(tensors);  // Divided, and tested for NaN and inf.
    if (!found.ok()) return found.status();

    absl::StatusOr<lossscaler::Decision> decision = step.Update();
    if (!decision.ok()) return decision.status();  // Neither apply nor skip.
    if (decision->apply()) model.Step();
  }
  return absl::OkStatus();
}

TEST(ReadmeLoop, TrainsAndSkipsTheStepThatOverflowed) {
  InProcessServer server;
  Model model;
  ASSERT_THAT(Train(server.address(), model), IsOk());
  EXPECT_NEAR(model.weight, 3, 1e-4);
  EXPECT_EQ(model.applied, 39);
}

}  // namespace
}  // namespace lossscaler
