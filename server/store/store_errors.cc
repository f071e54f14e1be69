// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/store_errors.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace lossscaler::server {

absl::Status StoreUnavailable(std::string_view message,
                              const ErrorMetadata& metadata) {
  return MakeRetryableError(Reason::kStoreUnavailable, message,
                            absl::Seconds(1), metadata);
}

absl::Status WriteConflict(const SessionState& state) {
  return StoreUnavailable(
      absl::StrCat("revision ", state.revision, " of session '", state.name,
                   "' does not follow the stored one; nothing was written; "
                   "read the session again and repeat the request"),
      {{"session", state.name},
       {"session_uid", state.uid},
       {"revision", absl::StrCat(state.revision)}});
}

}  // namespace lossscaler::server
