// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Serve: the life of a server that is only there to be compared with.

#ifndef LOSSSCALER_TESTS_BENCH_RPC_SERVE_H_
#define LOSSSCALER_TESTS_BENCH_RPC_SERVE_H_

#include <string>

#include "grpcpp/server_builder.h"

namespace lossscaler::bench {

// Listens on `address` ("host:0" takes any port), writes where into the file
// named by `ready_file` and serves until it is killed. Returns the exit code if
// it cannot.
int Serve(grpc::ServerBuilder* builder, const std::string& address,
          const std::string& ready_file);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_RPC_SERVE_H_
