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
#include "lossscaler/client/internal/wire_status.h"

namespace lossscaler::ctl {

namespace {

// There is still a connection to be made, even if nothing is waited for.
constexpr absl::Duration kConnectTime = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Hours(24);

absl::Status Explain(const std::string& address, const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return absl::UnavailableError(
          absl::StrCat("no server at ", address,
                       " says how it is: ", std::string(error.message())));
    case absl::StatusCode::kUnimplemented:
      return absl::UnimplementedError(absl::StrCat(
          "the server at ", address, " answers, but offers no health service"));
    default:
      return error;
  }
}

}  // namespace

absl::StatusOr<bool> IsServing(const ClientOptions& options,
                               absl::Duration wait) {
  const absl::Status authorized = internal::CheckCredentials(options);
  if (!authorized.ok()) return authorized;
  const auto stub =
      grpc::health::v1::Health::NewStub(internal::MakeChannel(options));
  grpc::ClientContext context;
  internal::AddHeaders(options, &context);
  const bool waits = wait > absl::ZeroDuration();
  context.set_wait_for_ready(waits);
  context.set_deadline(
      std::chrono::system_clock::now() +
      absl::ToChronoNanoseconds(waits ? std::min(wait, kLongestWait)
                                      : kConnectTime));
  grpc::health::v1::HealthCheckResponse response;
  const absl::Status status =
      internal::FromGrpc(stub->Check(&context, {}, &response));
  if (!status.ok()) return Explain(options.address, status);
  return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

}  // namespace lossscaler::ctl
