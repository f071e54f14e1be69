// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/progress_meter.h"

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/time/time.h"

namespace lossscaler::internal {

ProgressMeter::ProgressMeter(std::function<void(const UnscaleProgress&)> report,
                             std::uint64_t bytes_total, Clock* clock)
    : report_(std::move(report)), bytes_total_(bytes_total), clock_(clock) {}

void ProgressMeter::Note(std::uint64_t bytes_done) {
  if (!report_ || bytes_done <= reported_ || bytes_done >= bytes_total_) return;
  const absl::Time now = clock_->Now();
  if (now < next_) return;
  next_ = now + kInterval;
  reported_ = bytes_done;
  report_({.bytes_done = bytes_done, .bytes_total = bytes_total_});
}

void ProgressMeter::Finish() {
  if (!report_) return;
  report_({.bytes_done = bytes_total_, .bytes_total = bytes_total_});
}

}  // namespace lossscaler::internal
