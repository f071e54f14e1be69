// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Errors on the wire: absl::Status with a reason (lossscaler/core/error.h) to
// and from the code, message and details of a gRPC status.
//
// The details are a serialized google.rpc.Status with ErrorInfo and, where
// waiting helps, RetryInfo; any client that knows those can read them.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_WIRE_STATUS_H_
#define LOSSSCALER_WIRE_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lossscaler/rpc/error_details.pb.h"

namespace lossscaler::wire {

// ErrorInfo.domain of every error of ours.
inline constexpr std::string_view kErrorDomain = "lossscaler";

// An error inside a message, for what concerns less than the call. Code,
// message and details; OK is an empty one.
void ToProto(const absl::Status& status, rpc::Status* proto);
absl::Status StatusFromProto(const rpc::Status& proto);

// The value of the grpc-status-details-bin trailer. Empty for OK.
std::string SerializeErrorDetails(const absl::Status& status);

// The status that a peer meant. Details that cannot be read, or that are not
// of our domain, leave code and message as they are. `code` out of the
// canonical range becomes UNKNOWN.
absl::Status StatusFromWire(int code, std::string_view message,
                            std::string_view details);

}  // namespace lossscaler::wire

#endif  // LOSSSCALER_WIRE_STATUS_H_
