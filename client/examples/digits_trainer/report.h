// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the runs came to, for people and for programs.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_REPORT_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_REPORT_H_

#include <string>
#include <vector>

#include "digits_trainer/training.h"

namespace lossscaler::digits {

struct NamedResult {
  // "float16, Dynamic".
  std::string title;
  // "dynamic".
  std::string key;
  RunResult result;
};

// A line for each run.
std::string Table(const std::vector<NamedResult>& results);

// {"dynamic": {"loss": ..., "test_accuracy": ..., ...}, ...}, indented.
std::string Json(const std::vector<NamedResult>& results);

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_REPORT_H_
