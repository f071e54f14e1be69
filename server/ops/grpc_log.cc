// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/grpc_log.h"

#include <string>

#include "grpc/support/log.h"
#include "ops/limited_log.h"

namespace lossscaler::server {
namespace {

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      break;
  }
  // What gRPC calls an error is one peer's trouble as often as ours; what ends
  // this server we report ourselves.
  return LogLevel::kWarning;
}

void Forward(gpr_log_func_args* args) {
  const std::string_view path = args->file;
  // Anybody who connects and sends garbage makes gRPC say so.
  LimitedLog(LevelOf(args->severity), "grpc",
             {{"message", args->message},
              {"file", path.substr(path.rfind('/') + 1)},
              {"line", args->line}});
}

}  // namespace

void RouteGrpcLog() { gpr_set_log_function(&Forward); }

}  // namespace lossscaler::server
