// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The methods of the service, for what is counted, logged and allowed by
// method.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_METHOD_H_
#define LOSSSCALER_SERVER_OPS_METHOD_H_

#include <array>
#include <string_view>

namespace lossscaler::server {

enum class Method {
  kCreateSession,
  kGetSession,
  kListSessions,
  kDeleteSession,
  kRestoreSession,
  kScaleLoss,
  kUnscale,
  kUpdate,
  kJoinSession,
  kParticipate,
  kLeaveSession,
  kWatchSession,
  kListDecisions,
  kGetServerInfo,
};

inline constexpr std::array kAllMethods = {
    Method::kCreateSession, Method::kGetSession,     Method::kListSessions,
    Method::kDeleteSession, Method::kRestoreSession, Method::kScaleLoss,
    Method::kUnscale,       Method::kUpdate,         Method::kJoinSession,
    Method::kParticipate,   Method::kLeaveSession,   Method::kWatchSession,
    Method::kListDecisions, Method::kGetServerInfo,
};

// "CreateSession" and so on, as in the proto.
std::string_view MethodName(Method method);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_METHOD_H_
