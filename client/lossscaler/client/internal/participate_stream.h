// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_PARTICIPATE_STREAM_H_
#define LOSSSCALER_CLIENT_INTERNAL_PARTICIPATE_STREAM_H_

#include <memory>

#include "lossscaler/client/internal/stub.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/worker_stream.h"
#include "lossscaler/v1/group.pb.h"

namespace lossscaler::internal {

// Opens a Participate stream whose first message is `open`. Carries messages
// between gRPC and `events` and decides nothing. It has no thread: it needs
// polling, and a thread that polls it waits in gRPC itself, which is half of
// what being woken by a thread that does would cost.
//
// Thread safety: any thread, at any time.
std::shared_ptr<WorkerStream> StartParticipating(
    const std::shared_ptr<Stub>& stub, const ClientOptions& options,
    v1::ParticipateOpen open, std::shared_ptr<WorkerStreamEvents> events);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_PARTICIPATE_STREAM_H_
