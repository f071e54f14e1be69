// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A group session and its joins by generated stubs, for what is measured
// without the client library.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_RAW_GROUP_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_RAW_GROUP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/v1/group.pb.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"

namespace lossscaler::bench {

// Leases last an hour: nobody sends heartbeats.
absl::Status OpenGroup(v1::LossScalerService::Stub* stub,
                       const std::string& session, int workers);

// What the worker opens its stream with.
absl::StatusOr<v1::ParticipateOpen> Join(v1::LossScalerService::Stub* stub,
                                         const std::string& session,
                                         const std::string& worker);

// FINITE, as cast by a worker that has done all of the session's steps.
v1::StreamVote FiniteVote(const v1::ParticipateOpen& worker,
                          const v1::Current& current);

absl::Status ToAbsl(const grpc::Status& status);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_RAW_GROUP_H_
