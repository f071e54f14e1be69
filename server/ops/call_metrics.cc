// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/call_metrics.h"

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "lossscaler/core/error.h"
#include "prometheus/counter.h"

namespace lossscaler::server {
namespace {

// gRPC knows no codes beyond, and absl::Status::code() returns none.
constexpr std::size_t kCodes = 17;

// Unary calls take from 50 us to 10 s, streams up to days.
const prometheus::Histogram::BucketBoundaries kCallSeconds = {
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
    0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,
    10,      60,     600,     3600,   21600, 86400};

std::size_t IndexOf(Method method) { return static_cast<std::size_t>(method); }

std::string MethodLabel(std::size_t index) {
  return std::string(MethodName(kAllMethods[index]));
}

// Of a reason that the error table has; behind the last one for others.
std::size_t IndexOfReason(const absl::Status& status) {
  const std::optional<Reason> reason = ReasonOf(status);
  return reason.has_value() ? static_cast<std::size_t>(*reason)
                            : AllReasons().size();
}

std::string ReasonLabel(std::size_t index) {
  return index < AllReasons().size()
             ? std::string(ReasonName(AllReasons()[index]))
             : "OTHER";
}

std::string CodeLabel(std::size_t index) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(index));
}

}  // namespace

CallMetrics::CallMetrics(prometheus::Registry* registry)
    : calls_(&prometheus::BuildCounter()
                  .Name("lossscaler_rpc_calls_total")
                  .Help("Calls that have ended, by method and the code that "
                        "the client was told.")
                  .Register(*registry),
             kAllMethods.size(), kCodes,
             [](std::size_t method, std::size_t code) {
               return prometheus::Labels{{"method", MethodLabel(method)},
                                         {"code", CodeLabel(code)}};
             }),
      errors_(&prometheus::BuildCounter()
                   .Name("lossscaler_rpc_errors_total")
                   .Help("Calls that ended with an error, by method and the "
                         "reason of the error table, or OTHER.")
                   .Register(*registry),
              kAllMethods.size(), AllReasons().size() + 1,
              [](std::size_t method, std::size_t reason) {
                return prometheus::Labels{{"method", MethodLabel(method)},
                                          {"reason", ReasonLabel(reason)}};
              }) {
  prometheus::Family<prometheus::Histogram>& durations =
      prometheus::BuildHistogram()
          .Name("lossscaler_rpc_duration_seconds")
          .Help(
              "Seconds from the arrival of a call to its end; of a stream, "
              "its whole life.")
          .Register(*registry);
  for (std::size_t method = 0; method < kAllMethods.size(); ++method) {
    durations_[method] =
        &durations.Add({{"method", MethodLabel(method)}}, kCallSeconds);
    // A rate needs a zero to start from.
    calls_.At(method, static_cast<std::size_t>(absl::StatusCode::kOk));
    errors_.At(method, AllReasons().size());
  }
}

void CallMetrics::OnCallEnd(const CallRecord& call) {
  const std::size_t method = IndexOf(call.method());
  const absl::Status& status = call.status();
  calls_.At(method, static_cast<std::size_t>(status.code())).Increment();
  if (!status.ok()) errors_.At(method, IndexOfReason(status)).Increment();
  durations_[method]->Observe(absl::ToDoubleSeconds(call.took()));
}

}  // namespace lossscaler::server
