// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Server reflection, per server.
//
// Linking gRPC's reflection library switches reflection on for every server of
// the process; this takes it out again.

#ifndef LOSSSCALER_SERVER_OPS_REFLECTION_H_
#define LOSSSCALER_SERVER_OPS_REFLECTION_H_

#include <memory>

#include "grpcpp/impl/server_builder_option.h"

namespace lossscaler::server {

// For ServerBuilder::SetOption().
std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption(bool enabled);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_REFLECTION_H_
