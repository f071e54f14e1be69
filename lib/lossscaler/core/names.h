// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What names are allowed: sessions, tokens, streams and request ids.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_NAMES_H_
#define LOSSSCALER_CORE_NAMES_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace lossscaler {

inline constexpr std::size_t kMaxSessionNameBytes = 200;
inline constexpr std::size_t kMaxSegmentBytes = 63;
inline constexpr std::size_t kMaxIdBytes = 64;
inline constexpr std::size_t kMaxTensorNameBytes = 512;

// Segments of [A-Za-z0-9][A-Za-z0-9._-]{0,62} joined by '/', at most 200
// bytes. Otherwise INVALID_SESSION_NAME, saying which rule was broken where.
absl::Status ValidateSessionName(std::string_view name);

// What the names of some sessions start with: empty, a name, or a name and '/'.
// Otherwise INVALID_SESSION_NAME.
absl::Status ValidateSessionPrefix(std::string_view prefix);

// What logs call a token: as one segment of a session's name. Otherwise
// INVALID_FIELD.
absl::Status ValidateTokenName(std::string_view name);

// Request and stream ids: 1 to 64 printable ASCII characters (0x21 to 0x7e).
// `field` names the offending field in the INVALID_FIELD error.
absl::Status ValidateId(std::string_view field, std::string_view id);

// A request_id, which may be left out.
absl::Status ValidateRequestId(std::string_view request_id);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_NAMES_H_
