// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/exit_code.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace lossscaler::server {
namespace {

constexpr char kPayload[] = "lossscaler.server.ExitCode";

absl::StatusCode CanonicalCode(ExitCode code) {
  switch (code) {
    case ExitCode::kDrained:
      return absl::StatusCode::kOk;
    case ExitCode::kConfiguration:
      return absl::StatusCode::kInvalidArgument;
    case ExitCode::kBind:
    case ExitCode::kStore:
      return absl::StatusCode::kFailedPrecondition;
    case ExitCode::kDrainTimedOut:
      return absl::StatusCode::kDeadlineExceeded;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status MakeExitError(ExitCode code, std::string_view message) {
  absl::Status status(CanonicalCode(code),
                      absl::string_view(message.data(), message.size()));
  status.SetPayload(kPayload,
                    absl::Cord(std::to_string(static_cast<int>(code))));
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kDrained;
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  int code = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &code)) {
    return ExitCode::kConfiguration;
  }
  return static_cast<ExitCode>(code);
}

}  // namespace lossscaler::server
