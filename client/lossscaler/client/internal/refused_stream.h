// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_REFUSED_STREAM_H_
#define LOSSSCALER_CLIENT_INTERNAL_REFUSED_STREAM_H_

#include <memory>

#include "absl/status/status.h"
#include "lossscaler/client/worker_stream.h"

namespace lossscaler::internal {

// A stream that has ended with `error` before it began; `events` is told so.
//
// Thread safety: a free function without state.
std::shared_ptr<WorkerStream> RefuseToParticipate(
    const absl::Status& error,
    const std::shared_ptr<WorkerStreamEvents>& events);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_REFUSED_STREAM_H_
