// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Caller: one who makes calls of one kind, one after the other, by generated
// stubs and callbacks. The client library is not measured here: its calls
// block, so that it cannot have many under way without as many threads.

#ifndef LOSSSCALER_TESTS_BENCH_CALLS_CALLER_H_
#define LOSSSCALER_TESTS_BENCH_CALLS_CALLER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/channel.h"

namespace lossscaler::bench {

// Thread safety: one thread at a time.
class Caller {
 public:
  using Done = std::function<void(absl::Status)>;

  virtual ~Caller() = default;

  // Calls once; `done` hears of it on one of gRPC's threads, and may call
  // again.
  virtual void Call(Done done) = 0;
};

// `session` is the caller's own.
using MakeCaller = absl::StatusOr<std::unique_ptr<Caller>>(
    std::shared_ptr<grpc::Channel> channel, const std::string& session);

// Nothing asked, nothing answered.
MakeCaller MakePingCaller;
// One loss.
MakeCaller MakeScaleLossCaller;
// A finite vote of a solo session that names its step.
MakeCaller MakeUpdateCaller;

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_CALLS_CALLER_H_
