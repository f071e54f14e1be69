// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/stream_admission.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {

absl::Status StreamAdmission::Enter() {
  if (streams_.TryTake(1)) return absl::OkStatus();
  return MakeRetryableError(Reason::kTooManyStreams,
                            absl::StrCat("the server has ", streams_.taken(),
                                         " Unscale streams open, the limit is ",
                                         streams_.limit(), "; try again later"),
                            limits_.retry_delay,
                            {{"streams", absl::StrCat(streams_.taken())},
                             {"limit", absl::StrCat(streams_.limit())}});
}

absl::Status StreamAdmission::TakeBytes(std::int64_t bytes) {
  if (bytes_.TryTake(bytes)) return absl::OkStatus();
  return MakeRetryableError(
      Reason::kTooManyBytes,
      absl::StrCat("the stream needs ", bytes, " bytes and ", bytes_.taken(),
                   " of ", bytes_.limit(),
                   " are in use; use smaller chunks (max_chunk_bytes), or try "
                   "again later"),
      limits_.retry_delay,
      {{"bytes", absl::StrCat(bytes)},
       {"in_flight", absl::StrCat(bytes_.taken())},
       {"limit", absl::StrCat(bytes_.limit())}});
}

}  // namespace lossscaler::server
