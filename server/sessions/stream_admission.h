// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// StreamAdmission: how many Unscale streams a server has open, and what memory
// they may use. New streams are refused, never old ones.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_SESSIONS_STREAM_ADMISSION_H_
#define LOSSSCALER_SERVER_SESSIONS_STREAM_ADMISSION_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sessions/buffer_pool.h"
#include "sessions/byte_budget.h"
#include "sessions/limits.h"
#include "sessions/reservation.h"

namespace lossscaler::server {

class StreamAdmission {
 public:
  explicit StreamAdmission(const Limits& limits)
      : limits_(limits),
        streams_(limits.max_unscale_streams),
        bytes_(std::make_shared<ByteBudget>(limits.max_bytes_in_flight)),
        buffers_(BufferPool::Create()) {}

  const Limits& limits() const { return limits_; }

  // A call has begun: from its first moment, so that calls which never open
  // anything count too. TOO_MANY_STREAMS with RetryInfo, or OK until Leave().
  absl::Status Enter();
  void Leave() { streams_.Return(1); }

  // TOO_MANY_TENSORS, or OK.
  absl::Status CheckTensorCount(std::int64_t tensors) const;

  // TOO_MANY_BYTES, with RetryInfo unless they never fit.
  absl::StatusOr<std::shared_ptr<const Reservation>> Reserve(
      std::int64_t bytes);

  // What each of max_unscale_streams gets if all of them are open.
  std::int64_t fair_share() const {
    return limits_.max_bytes_in_flight / limits_.max_unscale_streams;
  }
  // Memory for answers.
  BufferPool& buffers() { return *buffers_; }

  std::int64_t open_streams() const { return streams_.taken(); }
  std::int64_t bytes_in_flight() const { return bytes_->taken(); }

 private:
  const Limits limits_;
  ByteBudget streams_;
  // What was lent may come back after this has gone.
  const std::shared_ptr<ByteBudget> bytes_;
  const std::shared_ptr<BufferPool> buffers_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_STREAM_ADMISSION_H_
