// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Client: the entrance of the library.
//
//   lossscaler::Client client({.address = "127.0.0.1:50551"});
//
// Thread safety: any thread, at any time. Copies share the connection.

#ifndef LOSSSCALER_CLIENT_CLIENT_H_
#define LOSSSCALER_CLIENT_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/session.h"
#include "lossscaler/client/worker_session.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

class Client {
 public:
  explicit Client(const ClientOptions& options = {});
  explicit Client(std::shared_ptr<Connection> connection);

  // Creates the session, or returns the one that is there if its
  // configuration is the same; CONFIG_MISMATCH otherwise. What a trainer calls
  // at its start and after a restart.
  absl::StatusOr<Session> OpenSession(const std::string& name,
                                      const LossScaler& scaler);

  // Creates the session; SESSION_EXISTS if the name is taken.
  absl::StatusOr<Session> CreateSession(const std::string& name,
                                        const LossScaler& scaler);

  // The session that has the name; SESSION_NOT_FOUND if there is none. Of a
  // group it is what restores it (Session::Restore()), not what trains in it:
  // its steps are refused with WRONG_KIND.
  absl::StatusOr<Session> GetSession(const std::string& name);

  // Every session whose name starts with `prefix`, by name.
  absl::StatusOr<std::vector<SessionInfo>> ListSessions(
      const std::string& prefix = "");

  absl::Status DeleteSession(const std::string& name);

  absl::StatusOr<ServerInfo> GetServerInfo();

  // Creates the group session, or returns the one that is there if its
  // configuration is the same; CONFIG_MISMATCH otherwise. What every worker
  // may call before it joins.
  absl::StatusOr<SessionInfo> OpenGroup(const std::string& name,
                                        const LossScaler& scaler,
                                        const GroupConfig& group);

  // See WorkerSession::Join().
  absl::StatusOr<WorkerSession> JoinGroup(const std::string& name,
                                          const WorkerOptions& options);

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_CLIENT_H_
