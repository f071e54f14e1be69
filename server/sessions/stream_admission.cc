// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/stream_admission.h"

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

absl::Status StreamAdmission::CheckTensorCount(std::int64_t tensors) const {
  if (tensors <= limits_.max_tensors_per_stream) return absl::OkStatus();
  return MakeError(
      Reason::kTooManyTensors,
      absl::StrCat("the stream lists ", tensors, " tensors, the limit is ",
                   limits_.max_tensors_per_stream, "; use several streams"),
      {{"tensors", absl::StrCat(tensors)},
       {"limit", absl::StrCat(limits_.max_tensors_per_stream)}});
}

absl::StatusOr<std::shared_ptr<const Reservation>> StreamAdmission::Reserve(
    std::int64_t bytes) {
  if (auto reserved = Reservation::Take(bytes_, bytes)) return reserved;
  if (bytes > bytes_->limit()) {
    return MakeError(
        Reason::kTooManyBytes,
        absl::StrCat("the stream needs ", bytes, " bytes, which is more than ",
                     bytes_->limit(),
                     ", all that the server lends; waiting does not help: use "
                     "smaller chunks (max_chunk_bytes) or fewer ranges, or "
                     "raise max_bytes_in_flight"),
        {{"bytes", absl::StrCat(bytes)},
         {"limit", absl::StrCat(bytes_->limit())}});
  }
  return MakeRetryableError(
      Reason::kTooManyBytes,
      absl::StrCat("the stream needs ", bytes, " bytes and ", bytes_->taken(),
                   " of ", bytes_->limit(),
                   " are in use; use smaller chunks (max_chunk_bytes), or try "
                   "again later"),
      limits_.retry_delay,
      {{"bytes", absl::StrCat(bytes)},
       {"in_flight", absl::StrCat(bytes_->taken())},
       {"limit", absl::StrCat(bytes_->limit())}});
}

}  // namespace lossscaler::server
