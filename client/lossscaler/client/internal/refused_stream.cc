// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/refused_stream.h"

#include <cstdint>
#include <optional>

namespace lossscaler::internal {
namespace {

class RefusedStream : public WorkerStream {
 public:
  void SendHeartbeat(std::int64_t, const std::optional<Checkpoint>&) override {}
  void SendVote(std::int64_t, std::int64_t, const Vote&) override {}
  void Cancel() override {}
};

}  // namespace

std::shared_ptr<WorkerStream> RefuseToParticipate(
    const absl::Status& error,
    const std::shared_ptr<WorkerStreamEvents>& events) {
  events->OnClosed(error);
  return std::make_shared<RefusedStream>();
}

}  // namespace lossscaler::internal
