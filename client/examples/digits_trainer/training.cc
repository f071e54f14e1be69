// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/training.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "digits_trainer/adam.h"
#include "digits_trainer/float16.h"
#include "digits_trainer/network.h"
#include "lossscaler/client/eigen.h"

namespace lossscaler::digits {
namespace {

absl::Status Annotate(const absl::Status& status, std::string_view method,
                      std::int64_t step) {
  absl::Status annotated(
      status.code(),
      absl::StrCat(std::string(method), " of step ", step,
                   " failed; the step is neither applied nor skipped: ",
                   status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

class Run {
 public:
  Run(const Digits& digits, Tensors<float> parameters, Session* session)
      : digits_(digits), parameters_(std::move(parameters)), session_(session) {
    if (session_ != nullptr) result_.float16.emplace();
  }

  // Takes one step on `batch` and returns its cross-entropy.
  absl::StatusOr<double> TakeStep(const Samples& batch) {
    ++result_.steps;
    return session_ == nullptr ? Float32Step(batch) : Float16Step(batch);
  }

  Epoch Describe(int number, int of, double loss) const {
    Epoch epoch = {.number = number,
                   .of = of,
                   .loss = loss,
                   .accuracy = TestAccuracy(),
                   .scale = std::nullopt};
    if (result_.float16) {
      epoch.scale = session_->current().scale;
      epoch.skipped = result_.float16->skipped;
    }
    return epoch;
  }

  RunResult Finish() {
    result_.loss = CrossEntropy(
        RunForward(precision(), parameters_, digits_.train.images).logits,
        digits_.train.labels);
    result_.accuracy = TestAccuracy();
    if (result_.float16) {
      result_.float16->final_scale = session_->current().scale;
    }
    return result_;
  }

 private:
  Precision precision() const {
    return session_ == nullptr ? Precision::kFloat32 : Precision::kFloat16;
  }

  double TestAccuracy() const {
    return Accuracy(
        RunForward(precision(), parameters_, digits_.test.images).logits,
        digits_.test.labels);
  }

  Gradients Float32Gradients(const Samples& batch, double* loss) const {
    const Forward forward =
        RunForward(Precision::kFloat32, parameters_, batch.images);
    if (loss != nullptr) *loss = CrossEntropy(forward.logits, batch.labels);
    return RunBackward(Precision::kFloat32, forward, batch.labels, kLossWeight);
  }

  double Float32Step(const Samples& batch) {
    double loss = 0.0;
    adam_.Step(Float32Gradients(batch, &loss).parameters, parameters_);
    return loss;
  }

  absl::StatusOr<double> Float16Step(const Samples& batch) {
    Step step = session_->BeginStep();
    step.set_iteration(result_.steps);
    const Forward forward =
        RunForward(Precision::kFloat16, parameters_, batch.images);
    const double loss = CrossEntropy(forward.logits, batch.labels);

    // The weighted loss, and the derivative with which its backward pass
    // starts: scaling is linear, so both take the same scale.
    const std::array<float, 2> unscaled = {
        kLossWeight * static_cast<float>(loss), kLossWeight};
    const absl::StatusOr<ScaledLosses> scaled = step.ScaleLoss(unscaled);
    if (!scaled.ok()) {
      return Annotate(scaled.status(), "ScaleLoss", step.number());
    }
    const Gradients gradients = RunBackward(Precision::kFloat16, forward,
                                            batch.labels, scaled->losses[1]);

    // As a trainer on tensor cores would hand them over: float16 in, float32
    // out, so that the division does not lose again what the scale saved.
    Tensors<Eigen::half> stored;
    Tensors<float> unscaled_gradients = ZeroTensors<float>();
    std::vector<GradientTensor> tensors;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      stored[i] = gradients.parameters[i].cast<Eigen::half>();
      tensors.push_back(
          Into(kTensorNames[i], stored[i], unscaled_gradients[i]));
    }
    const absl::StatusOr<UnscaleResult> found = step.Unscale(tensors);
    if (!found.ok()) return Annotate(found.status(), "Unscale", step.number());

    const absl::StatusOr<Decision> decision = step.Update();
    if (!decision.ok()) {
      return Annotate(decision.status(), "Update", step.number());
    }
    result_.float16->underflow.Add(Float32Gradients(batch, nullptr), gradients);
    if (decision->apply()) {
      adam_.Step(unscaled_gradients, parameters_);
    } else {
      ++result_.float16->skipped;
    }
    return loss;
  }

  const Digits& digits_;
  Tensors<float> parameters_;
  Session* const session_;
  Adam adam_;
  RunResult result_;
};

}  // namespace

absl::StatusOr<RunResult> Train(
    const Samples& samples, const TrainingOptions& options, Session* session,
    const std::function<void(const Epoch&)>& on_epoch) {
  std::mt19937_64 random(options.seed);
  const Digits digits = Split(samples, random);
  if (digits.train.count() < kBatchSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", digits.train.count(),
                     " training samples, fewer than a batch of ", kBatchSize));
  }
  Run run(digits, InitialParameters(random), session);
  std::vector<std::size_t> order(digits.train.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int number = 1; number <= options.epochs; ++number) {
    std::shuffle(order.begin(), order.end(), random);
    double sum = 0.0;
    int batches = 0;
    // What is left after the last whole batch sits out this epoch.
    for (auto at = order.begin();
         static_cast<std::size_t>(order.end() - at) >= kBatchSize;
         at += kBatchSize) {
      const absl::StatusOr<double> loss =
          run.TakeStep(digits.train.Select({at, at + kBatchSize}));
      if (!loss.ok()) return loss.status();
      sum += *loss;
      ++batches;
      absl::SleepFor(options.pause);
    }
    on_epoch(run.Describe(number, options.epochs, sum / batches));
  }
  return run.Finish();
}

}  // namespace lossscaler::digits
