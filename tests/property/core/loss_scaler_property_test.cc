// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lossscaler/core/loss_scaler.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "testing/arbitrary_scaler.h"

namespace lossscaler {
namespace {

using testing::AnyConstant;
using testing::AnyDynamic;

RC_GTEST_PROP(LossScalerProperty, ScaleStaysNormalFiniteAndWithinItsBounds,
              (const std::vector<bool>& overflows)) {
  LossScaler scaler = *AnyDynamic();
  const DynamicOptions options = scaler.dynamic_options();
  for (bool overflow : overflows) {
    const double before = scaler.scale();
    const ScalerUpdate update = scaler.Update(overflow);
    RC_ASSERT(update.scale_before == before);
    RC_ASSERT(update.scale_after == scaler.scale());
    RC_ASSERT(std::isnormal(static_cast<float>(scaler.scale())));
    RC_ASSERT(std::isfinite(1.0f / static_cast<float>(scaler.scale())));
    RC_ASSERT(scaler.scale() >= options.min_scale.value_or(kMinScale));
    RC_ASSERT(scaler.scale() <= options.max_scale.value_or(kMaxScale));
  }
}

RC_GTEST_PROP(LossScalerProperty, EveryStateCanBeRestored,
              (const std::vector<bool>& overflows)) {
  LossScaler scaler = *AnyDynamic();
  for (bool overflow : overflows) {
    scaler.Update(overflow);
    const absl::StatusOr<LossScaler> restored =
        LossScaler::Dynamic(scaler.dynamic_options(), scaler.dynamic_state());
    RC_ASSERT(restored.ok());
    RC_ASSERT(*restored == scaler);
  }
}

RC_GTEST_PROP(LossScalerProperty, OnlyOverflowsSkip,
              (const std::vector<bool>& overflows)) {
  LossScaler scaler = *rc::gen::oneOf(AnyDynamic(), AnyConstant());
  for (bool overflow : overflows) {
    RC_ASSERT(scaler.Update(overflow).apply == !overflow);
  }
}

RC_GTEST_PROP(LossScalerProperty, OverflowsNeverGrowAndCleanStepsNeverBackOff,
              (const std::vector<bool>& overflows)) {
  LossScaler scaler = *AnyDynamic();
  for (bool overflow : overflows) {
    const ScalerUpdate update = scaler.Update(overflow);
    if (overflow) {
      RC_ASSERT(update.scale_after <= update.scale_before);
      RC_ASSERT(!update.saturated);
    } else {
      RC_ASSERT(update.scale_after >= update.scale_before);
      RC_ASSERT(!update.floored);
      RC_ASSERT(!update.stalled);
    }
  }
}

RC_GTEST_PROP(LossScalerProperty, UpdatesNeverChangeTheConfiguration,
              (const std::vector<bool>& overflows)) {
  const LossScaler start = *AnyDynamic();
  LossScaler scaler = start;
  for (bool overflow : overflows) scaler.Update(overflow);
  RC_ASSERT(SameConfiguration(scaler, start));
}

RC_GTEST_PROP(LossScalerProperty, NoneAndStaticNeverChange,
              (const std::vector<bool>& overflows)) {
  const LossScaler start = *AnyConstant();
  LossScaler scaler = start;
  for (bool overflow : overflows) scaler.Update(overflow);
  RC_ASSERT(scaler == start);
}

}  // namespace
}  // namespace lossscaler
