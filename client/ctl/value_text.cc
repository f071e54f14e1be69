// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/value_text.h"

#include "absl/strings/str_cat.h"

namespace lossscaler::ctl {

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string TimeLeftText(absl::Duration left) {
  return absl::FormatDuration(absl::Floor(left, absl::Milliseconds(100)));
}

std::string BaseText(std::int64_t step, const std::string& session_uid) {
  if (session_uid.empty()) return absl::StrCat(step);
  return absl::StrCat(step, " of session ", session_uid);
}

}  // namespace lossscaler::ctl
