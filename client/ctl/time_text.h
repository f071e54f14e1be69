// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_TIME_TEXT_H_
#define LOSSSCALER_CTL_TIME_TEXT_H_

#include <string>

#include "absl/time/time.h"

namespace lossscaler::ctl {

// "2026-01-31T12:00:00+00:00".
inline std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

// "29.8s": whole tenths of a second, never more than is left.
inline std::string TimeLeftText(absl::Duration left) {
  return absl::FormatDuration(absl::Floor(left, absl::Milliseconds(100)));
}

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_TIME_TEXT_H_
