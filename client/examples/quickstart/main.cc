// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// quickstart: fits a line in float16, with a loss scale that a server keeps.
//
//   quickstart [--address host:port|unix:/path]      or $LOSSSCALER_ADDRESS
//
// The exit code is 0 after training, 1 after an error, 2 after wrong usage.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/eigen.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/loss_scaler.h"

namespace {

constexpr int kIterations = 100;
constexpr float kLearningRate = 0.1F;

// What is to be learnt: targets = inputs * (1, -2, 3).
struct Samples {
  Eigen::MatrixXf inputs;
  Eigen::VectorXf targets;
};

Samples MakeSamples() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Samples samples;
  samples.inputs = Eigen::MatrixXf::NullaryExpr(
      256, 3, [&](Eigen::Index, Eigen::Index) { return normal(random); });
  samples.targets = samples.inputs * Eigen::Vector3f(1, -2, 3);
  return samples;
}

// Half the mean squared error.
float Loss(const Samples& samples, const Eigen::VectorXf& weights) {
  return 0.5F * (samples.inputs * weights - samples.targets).squaredNorm() /
         static_cast<float>(samples.inputs.rows());
}

// The gradient of loss * scale, stored in float16 as a GPU would store it:
// infinite from 65520 on, zero below 2^-25.
Eigen::VectorX<Eigen::half> Backward(const Samples& samples,
                                     const Eigen::VectorXf& weights,
                                     double scale) {
  const float factor =
      static_cast<float>(scale) / static_cast<float>(samples.inputs.rows());
  const Eigen::VectorXf errors = samples.inputs * weights - samples.targets;
  return (samples.inputs.transpose() * (errors * factor)).cast<Eigen::half>();
}

// Whether the step is over without this trainer's vote. Its gradients are to be
// dropped, and the session knows by now where the next step begins.
bool StepIsOver(const absl::Status& error) {
  const std::optional<lossscaler::Reason> reason = lossscaler::ReasonOf(error);
  return reason == lossscaler::Reason::kVoteConflict ||
         reason == lossscaler::Reason::kStepForgotten ||
         reason == lossscaler::Reason::kStepAhead ||
         reason == lossscaler::Reason::kScaleMismatch;
}

struct Counts {
  int applied = 0;
  int skipped = 0;
};

void PrintStep(const lossscaler::Decision& decision, float loss,
               float scaled_loss, const lossscaler::UnscaleVerdict& found) {
  std::printf("%4d  %-13s  %9.9g  %12g  %11g  %10d\n",
              static_cast<int>(decision.step),
              std::string(lossscaler::OutcomeName(decision.outcome)).c_str(),
              decision.scale_before, static_cast<double>(loss),
              static_cast<double>(scaled_loss),
              static_cast<int>(found.nan_count + found.positive_infinity_count +
                               found.negative_infinity_count));
}

// [training loop]
absl::Status Train(lossscaler::Session& session, const Samples& samples,
                   Eigen::VectorXf& weights, Counts& counts) {
  for (int iteration = 1; iteration <= kIterations; ++iteration) {
    // Fixes step number and scale for all that follows. No network.
    lossscaler::Step step = session.BeginStep();
    step.set_iteration(iteration);  // For the server's journal.

    // Forward in whatever precision; then loss * scale, by the server.
    const float loss = Loss(samples, weights);
    absl::StatusOr<float> scaled_loss = step.ScaleLoss(loss);
    if (!scaled_loss.ok() && StepIsOver(scaled_loss.status())) continue;
    if (!scaled_loss.ok()) return scaled_loss.status();

    // A framework differentiates *scaled_loss. By hand, the chain rule says the
    // same: every gradient comes out multiplied by step.scale().
    const Eigen::VectorX<Eigen::half> scaled_gradients =
        Backward(samples, weights, step.scale());

    // gradients / scale, by the server, and every element tested for NaN and
    // infinity. From float16 into float32, so that the division loses nothing.
    Eigen::VectorXf gradients(weights.size());
    const lossscaler::GradientTensor tensors[] = {
        lossscaler::Into("weights", scaled_gradients, gradients)};
    absl::StatusOr<lossscaler::UnscaleResult> found = step.Unscale(tensors);
    if (!found.ok() && StepIsOver(found.status())) continue;
    if (!found.ok()) return found.status();  // `step` votes SKIP as it dies.

    // Votes on what was found, and returns the decision: the same for everyone
    // who asks, for ever. An error is neither apply nor skip, so the run ends
    // rather than guess. (A server that is away is waited for, ten minutes.)
    absl::StatusOr<lossscaler::Decision> decision = step.Update();
    if (!decision.ok() && StepIsOver(decision.status())) continue;
    if (!decision.ok()) return decision.status();

    if (decision->apply()) {
      weights -= kLearningRate * gradients;
      ++counts.applied;
    } else {
      ++counts.skipped;  // The scale is lower now: the next step tries again.
    }
    if (!decision->apply() || iteration % 10 == 0) {
      PrintStep(*decision, loss, *scaled_loss, found->total);
    }
  }
  return absl::OkStatus();
}
// [end of training loop]

absl::Status Run(const std::string& address) {
  // 65536 at first, doubled after 10 clean steps, halved on overflow. Real runs
  // wait 2000 steps; this one is over sooner.
  absl::StatusOr<lossscaler::LossScaler> scaler =
      lossscaler::LossScaler::Dynamic(65536, 2, 10);
  if (!scaler.ok()) return scaler.status();

  lossscaler::ClientOptions options;
  options.address = address;
  options.on_wait = [](const lossscaler::WaitReport& report) {
    std::cerr << "quickstart: waiting for the server, giving up in "
              << absl::FormatDuration(
                     absl::Floor(report.budget_left, absl::Seconds(1)))
              << ": " << report.last_error.message() << "\n";
  };
  lossscaler::Client client(options);

  // Creates the session, or finds it again when the trainer is started again.
  absl::StatusOr<lossscaler::Session> session =
      client.OpenSession("examples/quickstart", *scaler);
  if (!session.ok()) return session.status();

  std::printf(
      "step  outcome            scale          loss  scaled loss  "
      "non-finite\n");
  const Samples samples = MakeSamples();
  Eigen::VectorXf weights = Eigen::VectorXf::Zero(samples.inputs.cols());
  Counts counts;
  absl::Status trained = Train(*session, samples, weights, counts);
  if (!trained.ok()) return trained;
  std::printf("scale %.9g, applied %d, skipped %d, final loss %g\n",
              session->current().scale, counts.applied, counts.skipped,
              static_cast<double>(Loss(samples, weights)));
  return absl::OkStatus();
}

// --address, else $LOSSSCALER_ADDRESS, else the server's default.
std::optional<std::string> AddressFrom(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--address") return argv[2];
  if (argc != 1) return std::nullopt;
  const char* const address = std::getenv("LOSSSCALER_ADDRESS");
  return address != nullptr ? address : lossscaler::ClientOptions().address;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<std::string> address = AddressFrom(argc, argv);
  if (!address) {
    std::cerr << "usage: quickstart [--address host:port|unix:/path]\n";
    return 2;
  }
  const absl::Status status = Run(*address);
  if (!status.ok()) {
    std::cerr << "quickstart: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
