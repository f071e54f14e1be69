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

// Carries the stream on the calling thread until it has ended, or is given up
// because gRPC does not end it; see UnscalePump::WaitForStream(). A stream that
// is given up touches neither the pump nor the caller's memory any more; the
// next stream has another connection. What it still holds (its messages under
// way, in buffers of ours, and its connection) goes with a later call, once the
// peer reads on or is gone.
//
// `pump` has begun a stream, and `open` names what it said.
//
// Thread safety: one thread for each pump.
//
// REQUIRES: CheckCredentials(options).ok().
absl::Status RunUnscaleStream(UnscalePump* pump, v1::UnscaleOpen open,
                              Stub* stub, const ClientOptions& options,
                              absl::Duration stall_timeout);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_
