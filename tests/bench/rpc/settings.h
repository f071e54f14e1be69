// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Settings: what lossscalerd and the client library ask of gRPC, for the floors
// that are compared with them under the same conditions. Kept equal by hand to
// server/app.cc and the client's bulk channel: a floor must not know the
// product's code. What only limits or watches a server (its memory quota,
// keepalive) the floors do without.

#ifndef LOSSSCALER_TESTS_BENCH_RPC_SETTINGS_H_
#define LOSSSCALER_TESTS_BENCH_RPC_SETTINGS_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/server_builder.h"

namespace lossscaler::bench {

// Chunks that may be under way unanswered, and that a server reads ahead.
inline constexpr int kChunksInFlight = 4;

// On TCP a large fixed window; on a unix socket gRPC's defaults.
void Tune(const std::string& address, grpc::ServerBuilder* builder);
std::shared_ptr<grpc::Channel> TunedChannel(const std::string& address);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_RPC_SETTINGS_H_
