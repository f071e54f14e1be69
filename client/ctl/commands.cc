// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/commands.h"

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ctl/checkpoint_file.h"
#include "ctl/decision_printing.h"
#include "ctl/exit_code.h"
#include "ctl/failure.h"
#include "ctl/one_line.h"
#include "ctl/printing.h"
#include "lossscaler/core/loss_scaler_json.h"

namespace lossscaler::ctl {
int Create(const Environment& environment, Connection& connection,
           const std::string& name, const absl::StatusOr<LossScaler>& scaler,
           const std::optional<GroupConfig>& group, IfExists if_exists,
           Format format) {
  if (!scaler.ok()) return Fail(environment, format, scaler.status());
  const absl::StatusOr<SessionInfo> session =
      group ? connection.CreateGroup(name, *scaler, *group, if_exists)
            : connection.CreateSession(name, *scaler, if_exists);
  if (!session.ok()) return Fail(environment, format, session.status());
  if (format == Format::kJson) {
    environment.out << CreatedJson(session->name, session->uid) << "\n";
  } else {
    // An equal session that was there already is told apart by nobody.
    environment.out << (if_exists == IfExists::kFail ? "created " : "there is ")
                    << OneLine(session->name) << " (uid "
                    << OneLine(session->uid) << ")\n";
  }
  return kDone;
}

int Get(const Environment& environment, Connection& connection,
        const std::string& name, Format format) {
  const absl::StatusOr<SessionInfo> info =
      connection.GetSession({.name = name, .uid = ""});
  if (!info.ok()) return Fail(environment, format, info.status());
  environment.out << (format == Format::kJson ? SessionJson(*info) + "\n"
                                              : SessionText(*info));
  return kDone;
}

int GetCheckpoint(const Environment& environment, Connection& connection,
                  const std::string& name, Format format) {
  const absl::StatusOr<SessionInfo> info =
      connection.GetSession({.name = name, .uid = ""});
  if (!info.ok()) return Fail(environment, format, info.status());
  environment.out << ToJson(info->scaler) << "\n";
  return kDone;
}

int List(const Environment& environment, Client client,
         const std::string& prefix, Format format) {
  const absl::StatusOr<std::vector<SessionInfo>> sessions =
      client.ListSessions(prefix);
  if (!sessions.ok()) return Fail(environment, format, sessions.status());
  environment.out << (format == Format::kJson ? SessionsJson(*sessions) + "\n"
                                              : SessionsText(*sessions));
  return kDone;
}

int Delete(const Environment& environment, Connection& connection,
           const std::string& name, Format format) {
  const absl::Status status =
      connection.DeleteSession({.name = name, .uid = ""});
  if (!status.ok()) return Fail(environment, format, status);
  if (format == Format::kJson) {
    environment.out << DeletedJson(name) << "\n";
  } else {
    environment.out << "deleted " << name << "\n";
  }
  return kDone;
}

int Restore(const Environment& environment, Connection& connection,
            const RestoreRequest& request, Format format) {
  const absl::StatusOr<std::string> text =
      ReadCheckpointFile(environment, request.file);
  if (!text.ok()) return Fail(environment, format, text.status());
  const absl::StatusOr<LossScaler> scaler = LossScalerFromJson(*text);
  if (!scaler.ok()) return Fail(environment, format, scaler.status());
  const absl::StatusOr<RestoreAnswer> answer =
      connection.RestoreSession({.name = request.session, .uid = ""}, *scaler,
                                request.if_epoch, request.request_id);
  if (!answer.ok()) return Fail(environment, format, answer.status());
  const Current& current = answer->session.current;
  environment.out << (format == Format::kJson
                          ? DecidedJson(answer->decision, current) + "\n"
                          : DecidedText(answer->decision, current));
  return kDone;
}

int Health(const Environment& environment, const ClientOptions& options,
           Format format) {
  const absl::StatusOr<bool> serving =
      environment.is_serving(options, options.unavailable_budget);
  if (!serving.ok()) return Fail(environment, format, serving.status());
  const std::string state = *serving ? "SERVING" : "NOT_SERVING";
  environment.out << (format == Format::kJson ? HealthJson(state) : state)
                  << "\n";
  return *serving ? kDone : kRefused;
}

int Info(const Environment& environment, Connection& connection,
         Format format) {
  const absl::StatusOr<ServerInfo> info = connection.GetServerInfo();
  if (!info.ok()) return Fail(environment, format, info.status());
  environment.out << (format == Format::kJson ? ServerJson(*info) + "\n"
                                              : ServerText(*info));
  return kDone;
}

}  // namespace lossscaler::ctl
