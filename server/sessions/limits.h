// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The limits that keep one client's flood from becoming everybody's problem.

#ifndef LOSSSCALER_SERVER_SESSIONS_LIMITS_H_
#define LOSSSCALER_SERVER_SESSIONS_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/wire_limits.h"

namespace lossscaler::server {

// The limits of the wire contract, as counts of bytes.
inline constexpr std::int64_t kMaxMessageBytes{lossscaler::kMaxMessageBytes};
// Half of it where the output is wider than the input.
inline constexpr std::int64_t kMaxChunkBytes{lossscaler::kMaxPayloadBytes};

struct Limits {
  std::int64_t max_sessions = 10'000;
  // Unscale streams open at one time.
  std::int64_t max_unscale_streams = 64;
  // Chunk buffers of all open Unscale streams together.
  std::int64_t max_bytes_in_flight = std::int64_t{256} << 20;
  std::int64_t max_tensors_per_stream = 65'536;
  // Calls that are open at one time, besides the streams of watchers and of
  // live workers; not a setting.
  std::int64_t max_open_calls = 10'000;
  // WatchSession streams open at one time; not a setting.
  std::int64_t max_watch_streams = 1'024;
  // Participate streams that have begun and not said for whom they speak, at
  // one time: as many as one session may have workers, which may come all at
  // once. Not a setting.
  std::int64_t max_unopened_streams = kMaxWorkers;
  std::int64_t max_losses_per_call = 65'536;
  // An Unscale stream that sends nothing for this long is ended.
  absl::Duration unscale_idle = absl::Seconds(30);
  // What RetryInfo asks for while a limit is met, the store is away or the
  // server drains.
  absl::Duration retry_delay = absl::Seconds(1);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_LIMITS_H_
