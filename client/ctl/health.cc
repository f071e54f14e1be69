// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/health.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/stub.h"

namespace lossscaler::ctl {

absl::StatusOr<bool> IsServing(const ClientOptions& options,
                               absl::Duration wait) {
  const auto stub =
      grpc::health::v1::Health::NewStub(internal::MakeChannel(options));
  grpc::ClientContext context;
  const absl::Status authorized = internal::Authorize(options, &context);
  if (!authorized.ok()) return authorized;
  // Without waiting for a server there is still a connection to be made.
  context.set_wait_for_ready(wait > absl::ZeroDuration());
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoNanoseconds(std::clamp(
                           wait, absl::Seconds(1), absl::Hours(24))));
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = stub->Check(&context, {}, &response);
  if (!status.ok()) {
    return absl::UnavailableError(
        absl::StrCat("no server at ", options.address,
                     " says how it is: ", status.error_message()));
  }
  return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

}  // namespace lossscaler::ctl
