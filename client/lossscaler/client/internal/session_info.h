// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Sessions in requests and answers.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_SESSION_INFO_H_
#define LOSSSCALER_CLIENT_INTERNAL_SESSION_INFO_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"

namespace lossscaler::internal {

// What gRPC would refuse without saying why: text that is not UTF-8.
absl::Status CheckText(std::string_view field, std::string_view text);

// A name that a session can have.
absl::Status CheckSession(const SessionRef& session);

template <typename Request>
void SetSession(const SessionRef& session, Request* request) {
  request->set_session(session.name);
  request->set_session_uid(session.uid);
}

// MALFORMED_ANSWER of `method` if it cannot be read.
absl::StatusOr<SessionInfo> InfoFromProto(std::string_view method,
                                          const v1::Session& proto);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_SESSION_INFO_H_
