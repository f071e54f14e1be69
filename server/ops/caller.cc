// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/caller.h"

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kWorker:
      return "worker";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

Role RoleFor(Method method) {
  switch (method) {
    case Method::kGetSession:
    case Method::kListSessions:
    case Method::kWatchSession:
    case Method::kListDecisions:
    case Method::kGetServerInfo:
      return Role::kViewer;
    case Method::kCreateSession:
    case Method::kRestoreSession:
    case Method::kScaleLoss:
    case Method::kUnscale:
    case Method::kUpdate:
    case Method::kJoinSession:
    case Method::kParticipate:
    case Method::kLeaveSession:
      return Role::kWorker;
    case Method::kDeleteSession:
      return Role::kAdmin;
  }
  return Role::kAdmin;
}

absl::Status CheckAllowed(const Caller& caller, Method method,
                          std::string_view session) {
  const Role least = RoleFor(method);
  if (caller.role < least) {
    return MakeError(
        Reason::kNotAllowed,
        absl::StrCat("the token ", Quoted(caller.name), " has the role ",
                     std::string(RoleName(caller.role)), "; ",
                     std::string(MethodName(method)), " needs the role ",
                     std::string(RoleName(least)), "; use a token that has it"),
        {{"caller", Quoted(caller.name)},
         {"role", std::string(RoleName(caller.role))},
         {"method", std::string(MethodName(method))},
         {"needed_role", std::string(RoleName(least))}});
  }
  if (method == Method::kGetServerInfo ||
      session.starts_with(caller.sessions)) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::kNotAllowed,
      absl::StrCat("the token ", Quoted(caller.name),
                   " is for sessions whose names start with ",
                   Quoted(caller.sessions), ", and the call names ",
                   Quoted(session), "; name one of those"),
      {{"caller", Quoted(caller.name)},
       {"allowed_prefix", Quoted(caller.sessions)},
       {"session", Quoted(session)}});
}

}  // namespace lossscaler::server
