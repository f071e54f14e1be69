// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Reconnect: when a worker asks for its next stream, and since when it has had
// none that works.
//
// A stream works once the server has answered something on it. One that opens
// and breaks does not: whatever breaks it would break the next one too, at full
// speed and without end.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CLIENT_INTERNAL_RECONNECT_H_
#define LOSSSCALER_CLIENT_INTERNAL_RECONNECT_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace lossscaler::internal {

class Reconnect {
 public:
  // The pause is uniform in [0, b], where b starts at `initial_backoff`,
  // doubles with every loss and stops at `max_backoff`; never shorter than the
  // server asks for. `random` is uniform in [0, 1).
  Reconnect(absl::Duration initial_backoff, absl::Duration max_backoff,
            std::function<double()> random);

  // The present stream is lost, or could not be had.
  void Lost(const absl::Status& why, absl::Time now);
  // The present stream works, or another one is to be had at once.
  void Works();

  // Not before this.
  absl::Time next() const { return next_; }
  // Unset: the last stream works.
  std::optional<absl::Time> away_since() const { return away_since_; }
  // Why the last stream was lost.
  const absl::Status& error() const { return error_; }

 private:
  const absl::Duration initial_backoff_;
  const absl::Duration max_backoff_;
  const std::function<double()> random_;

  absl::Duration backoff_;
  absl::Time next_ = absl::InfinitePast();
  std::optional<absl::Time> away_since_;
  absl::Status error_;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_RECONNECT_H_
