// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Flooder: a client that calls as fast as it is answered, on many connections.

#ifndef LOSSSCALER_TESTS_BENCH_FLOOD_FLOODER_H_
#define LOSSSCALER_TESTS_BENCH_FLOOD_FLOODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"

namespace lossscaler::bench {

// What a flood calls.
enum class FloodKind {
  // CreateSession and Unscale, in equal numbers, of a server that has as many
  // as it may: all are refused.
  kRefused,
  // ScaleLoss.
  kAnswered,
};

// Thread safety: Start() and Stop() in turn, on one thread.
class Flooder {
 public:
  // Connects so many times and has so many calls under way on each connection
  // while it floods. Of kAnswered it makes the session "flood".
  static absl::StatusOr<std::unique_ptr<Flooder>> Connect(
      FloodKind kind, const std::string& address, int connections, int calls);

  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until no call is under way, and returns how many were answered; an
  // error if one was answered by something else than it must be.
  absl::StatusOr<std::int64_t> Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Stub = v1::LossScalerService::Stub;

  Flooder(FloodKind kind, int calls) : kind_(kind), calls_(calls) {}

  absl::Status CreateSession();
  // One call more on `stub`, unless the flood is over.
  void Next(Stub* stub, int number) ABSL_LOCKS_EXCLUDED(mutex_);
  void Answered(Stub* stub, int number, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const FloodKind kind_;
  const int calls_;
  std::vector<std::unique_ptr<Stub>> stubs_;

  Mutex mutex_;
  CondVar ended_;
  bool flooding_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status wrong_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_FLOOD_FLOODER_H_
