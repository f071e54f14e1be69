// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// One Unscale stream: carries messages between gRPC and an UnscalePump and
// decides nothing.

#ifndef LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_
#define LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/client/internal/stub.h"
#include "lossscaler/client/internal/unscale_pump.h"
#include "lossscaler/client/options.h"
#include "lossscaler/v1/unscale.pb.h"

namespace lossscaler::internal {

// Blocks until the stream has ended, or was given up because gRPC does not end
// it; see UnscalePump::WaitForStream(). A stream that was given up touches
// neither the pump nor the caller's memory any more; its connection is left to
// it, and the next stream has another one. What it still holds (its messages
// under way, in buffers of ours) goes when the peer reads on or is gone.
//
// `pump` has begun a stream, and `open` names what it said.
//
// Thread safety: by one thread for each pump; gRPC's threads call the pump.
//
// REQUIRES: CheckCredentials(options).ok().
absl::Status RunUnscaleStream(UnscalePump* pump, v1::UnscaleOpen open,
                              Stub* stub, const ClientOptions& options,
                              absl::Duration stall_timeout);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_
