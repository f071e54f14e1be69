// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Matchers for absl::Status and absl::StatusOr that read as sentences:
//
//   EXPECT_THAT(status, IsOk());
//   EXPECT_THAT(status, IsError(Reason::kStepAhead));
//   EXPECT_THAT(status_or, IsOkAndHolds(Eq(3)));

#ifndef LOSSSCALER_TESTS_TESTING_STATUS_MATCHERS_H_
#define LOSSSCALER_TESTS_TESTING_STATUS_MATCHERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "lossscaler/core/error.h"

namespace lossscaler::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status) {
  return status.status();
}

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).ok();
}

// The reason, and with it the canonical code.
MATCHER_P(IsError, reason,
          std::string(negation ? "is not " : "is ") +
              std::string(ReasonName(reason))) {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status << " with reason '" << ReasonNameOf(status) << "'";
  return status.code() == CodeOf(reason) && ReasonOf(status) == reason;
}

MATCHER_P2(IsErrorSaying, reason, part,
           std::string(negation ? "is not " : "is ") +
               std::string(ReasonName(reason)) + " saying " + part) {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status << " with reason '" << ReasonNameOf(status) << "'";
  return ReasonOf(status) == reason &&
         std::string(status.message()).find(part) != std::string::npos;
}

MATCHER_P(HasCode, code, "") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code;
}

MATCHER_P(IsOkAndHolds, matcher, "") {
  if (!arg.ok()) {
    *result_listener << arg.status();
    return false;
  }
  return ::testing::ExplainMatchResult(matcher, *arg, result_listener);
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_STATUS_MATCHERS_H_
