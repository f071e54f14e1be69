// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Sizes that both ends of a call keep to.

#ifndef LOSSSCALER_CORE_WIRE_LIMITS_H_
#define LOSSSCALER_CORE_WIRE_LIMITS_H_

#include <cstddef>

namespace lossscaler {

// The default of every gRPC implementation: no message of ours is larger.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{4} << 20;

// The largest payload of a chunk, in bytes: 64 KiB of its message are left for
// everything else.
inline constexpr std::size_t kMaxPayloadBytes =
    kMaxMessageBytes - (std::size_t{64} << 10);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_WIRE_LIMITS_H_
