// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The gRPC service: translates calls, hands them to the sessions, translates
// the answers. It takes no decisions of its own.

#ifndef LOSSSCALER_SERVER_RPC_SERVICE_H_
#define LOSSSCALER_SERVER_RPC_SERVICE_H_

#include <memory>
#include <string>

#include "grpcpp/impl/codegen/service_type.h"
#include "ops/call_gate.h"
#include "ops/spare_threads.h"
#include "rpc/call.h"
#include "sessions/byte_budget.h"
#include "sessions/limits.h"
#include "sessions/registry.h"
#include "sessions/stream_admission.h"
#include "store/store.h"

namespace lossscaler::server {

struct ServiceDependencies {
  // All outlive the service and the server it is registered with.
  Registry* registry = nullptr;
  Store* store = nullptr;
  CallGate* gate = nullptr;
  StreamAdmission* admission = nullptr;
  // Places for WatchSession streams.
  ByteBudget* watchers = nullptr;
  const Reception* reception = nullptr;
  // Null: no threads are held.
  SpareThreads* spare_threads = nullptr;
  Limits limits;
  std::string version;
};

// The service "lossscaler.v1.LossScalerService", on gRPC's callback API.
std::unique_ptr<grpc::Service> MakeLossScalerService(
    const ServiceDependencies& dependencies);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_SERVICE_H_
