// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Quantities as people write them in settings.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_QUANTITY_H_
#define LOSSSCALER_SERVER_OPS_QUANTITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace lossscaler::server {

// "20s", "1m30s", "500ms": not negative, finite, every number with its unit
// (ns, us, ms, s, m, h). nullopt: not a duration.
std::optional<absl::Duration> ParseDuration(std::string_view text);

// "256MiB": a whole number with B, KiB, MiB, GiB or TiB. nullopt: not a size,
// or more than an int64 of bytes.
std::optional<std::int64_t> ParseBytes(std::string_view text);

// A whole number in decimal. nullopt: something else, or out of range.
std::optional<std::int64_t> ParseInteger(std::string_view text);

// In the largest unit that divides it: 268435456 is "256MiB". bytes >= 0.
std::string FormatBytes(std::int64_t bytes);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_QUANTITY_H_
