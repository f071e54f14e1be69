// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/commands.h"

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ctl/exit_code.h"
#include "ctl/printing.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

int Fail(const Environment& environment, const absl::Status& status) {
  const std::string reason = ReasonNameOf(status);
  environment.err << "lossscalerctl: "
                  << (reason.empty() ? absl::StatusCodeToString(status.code())
                                     : reason)
                  << ": " << std::string(status.message()) << "\n";
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kOutOfReach;
    case absl::StatusCode::kInvalidArgument:
      return kWrongUsage;
    default:
      return kRefused;
  }
}

}  // namespace

int Create(const Environment& environment, Client client,
           const std::string& name, const absl::StatusOr<LossScaler>& scaler,
           Format format) {
  if (!scaler.ok()) return Fail(environment, scaler.status());
  const absl::StatusOr<Session> session = client.CreateSession(name, *scaler);
  if (!session.ok()) return Fail(environment, session.status());
  if (format == Format::kJson) {
    environment.out << CreatedJson(session->name(), session->uid()) << "\n";
  } else {
    environment.out << "created " << session->name() << " (uid "
                    << session->uid() << ")\n";
  }
  return kDone;
}

int Get(const Environment& environment, Connection& connection,
        const std::string& name, Format format) {
  const absl::StatusOr<SessionInfo> info =
      connection.GetSession({.name = name, .uid = ""});
  if (!info.ok()) return Fail(environment, info.status());
  environment.out << (format == Format::kJson ? SessionJson(*info) + "\n"
                                              : SessionText(*info));
  return kDone;
}

int List(const Environment& environment, Client client,
         const std::string& prefix, Format format) {
  const absl::StatusOr<std::vector<SessionInfo>> sessions =
      client.ListSessions(prefix);
  if (!sessions.ok()) return Fail(environment, sessions.status());
  environment.out << (format == Format::kJson ? SessionsJson(*sessions) + "\n"
                                              : SessionsText(*sessions));
  return kDone;
}

int Delete(const Environment& environment, Client client,
           const std::string& name, Format format) {
  const absl::Status status = client.DeleteSession(name);
  if (!status.ok()) return Fail(environment, status);
  if (format == Format::kJson) {
    environment.out << DeletedJson(name) << "\n";
  } else {
    environment.out << "deleted " << name << "\n";
  }
  return kDone;
}

int Health(const Environment& environment, const std::string& address,
           absl::Duration wait, Format format) {
  const absl::StatusOr<bool> serving = environment.is_serving(address, wait);
  if (!serving.ok()) return Fail(environment, serving.status());
  const std::string state = *serving ? "SERVING" : "NOT_SERVING";
  environment.out << (format == Format::kJson ? HealthJson(state) : state)
                  << "\n";
  return *serving ? kDone : kRefused;
}

}  // namespace lossscaler::ctl
