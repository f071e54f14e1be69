// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/method.h"

namespace lossscaler::server {

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kCreateSession:
      return "CreateSession";
    case Method::kGetSession:
      return "GetSession";
    case Method::kListSessions:
      return "ListSessions";
    case Method::kDeleteSession:
      return "DeleteSession";
    case Method::kRestoreSession:
      return "RestoreSession";
    case Method::kScaleLoss:
      return "ScaleLoss";
    case Method::kUnscale:
      return "Unscale";
    case Method::kUpdate:
      return "Update";
    case Method::kJoinSession:
      return "JoinSession";
    case Method::kParticipate:
      return "Participate";
    case Method::kLeaveSession:
      return "LeaveSession";
    case Method::kWatchSession:
      return "WatchSession";
    case Method::kListDecisions:
      return "ListDecisions";
    case Method::kGetServerInfo:
      return "GetServerInfo";
  }
  return "";
}

}  // namespace lossscaler::server
