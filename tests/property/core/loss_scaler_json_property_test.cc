// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "testing/arbitrary_scaler.h"

namespace lossscaler {
namespace {

using testing::AnyConstant;
using testing::AnyDynamic;

RC_GTEST_PROP(LossScalerJsonProperty, ReadsBackWhatItWroteBitForBit,
              (const std::vector<bool>& overflows)) {
  LossScaler scaler = *rc::gen::oneOf(AnyDynamic(), AnyConstant());
  for (bool overflow : overflows) scaler.Update(overflow);
  const std::string text = ToJson(scaler);
  const absl::StatusOr<LossScaler> read = LossScalerFromJson(text);
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == scaler);
  RC_ASSERT(ToJson(*read) == text);
}

// A document damaged in one byte is another document or an error, never a
// crash or an exception; what is accepted is a value that can be written.
RC_GTEST_PROP(LossScalerJsonProperty, SurvivesDamage, ()) {
  std::string text = ToJson(*rc::gen::oneOf(AnyDynamic(), AnyConstant()));
  const auto position = *rc::gen::inRange<std::size_t>(0, text.size());
  text[position] = static_cast<char>(*rc::gen::inRange(0, 256));
  const absl::StatusOr<LossScaler> read = LossScalerFromJson(text);
  if (read.ok()) {
    RC_ASSERT(LossScalerFromJson(ToJson(*read)).value() == *read);
  } else {
    RC_ASSERT(ReasonOf(read.status()) == Reason::kInvalidScaler);
  }
}

RC_GTEST_PROP(LossScalerJsonProperty, EveryTruncationIsRefused, ()) {
  const std::string text = ToJson(*rc::gen::oneOf(AnyDynamic(), AnyConstant()));
  const auto length = *rc::gen::inRange<std::size_t>(0, text.size());
  RC_ASSERT(!LossScalerFromJson(text.substr(0, length)).ok());
}

}  // namespace
}  // namespace lossscaler
