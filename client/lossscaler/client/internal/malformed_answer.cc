// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/malformed_answer.h"

#include "absl/strings/str_cat.h"

namespace lossscaler::internal {

absl::Status MalformedAnswer(std::string_view method, const std::string& what,
                             const ErrorMetadata& metadata) {
  return MakeError(Reason::kMalformedAnswer,
                   absl::StrCat("the server's answer to ", std::string(method),
                                " cannot be used: ", what,
                                "; check that its version fits this client"),
                   metadata);
}

absl::Status MalformedAnswer(std::string_view method, const absl::Status& why) {
  return MalformedAnswer(method, std::string(why.message()));
}

}  // namespace lossscaler::internal
