// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ProgressMeter: how often a caller hears how far its Unscale has come.

#ifndef LOSSSCALER_CLIENT_INTERNAL_PROGRESS_METER_H_
#define LOSSSCALER_CLIENT_INTERNAL_PROGRESS_METER_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"

namespace lossscaler::internal {

// Thread safety: one thread, the caller's.
class ProgressMeter {
 public:
  // How long it is silent after a report.
  static constexpr absl::Duration kInterval = absl::Milliseconds(100);

  // `clock` outlives the meter. `report` may be empty: nobody listens.
  ProgressMeter(std::function<void(const UnscaleProgress&)> report,
                std::uint64_t bytes_total, Clock* clock);

  // `bytes_done` never falls. Reports it, if that is news and time for it; the
  // end of the work is left to Finish().
  void Note(std::uint64_t bytes_done);
  // Everything is done: reports that, once.
  void Finish();

 private:
  const std::function<void(const UnscaleProgress&)> report_;
  const std::uint64_t bytes_total_;
  Clock* const clock_;

  std::uint64_t reported_ = 0;
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_PROGRESS_METER_H_
