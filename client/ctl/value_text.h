// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Values as people read them.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_VALUE_TEXT_H_
#define LOSSSCALER_CTL_VALUE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace lossscaler::ctl {

// "2026-01-31T12:00:00+00:00".
std::string TimeText(absl::Time time);
// "29.8s": whole tenths of a second, never more than is left.
std::string TimeLeftText(absl::Duration left);
// "7", or "7 of session UID" where one is named.
std::string BaseText(std::int64_t step, const std::string& session_uid);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_VALUE_TEXT_H_
