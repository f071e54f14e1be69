// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// AdminServer: the admin port: health and metrics by HTTP.
//
// One thread sees to all connections and waits for none of them: who connects
// and sends nothing, or slowly, or does not read, costs a file descriptor until
// its time is up and delays nobody. A connection carries one request.
//
// Thread safety: any thread. Pages are asked for on the server's own thread,
// one at a time, and must not block: all others wait for them, /healthz too.

#ifndef LOSSSCALER_SERVER_OPS_ADMIN_SERVER_H_
#define LOSSSCALER_SERVER_OPS_ADMIN_SERVER_H_

#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ops/address.h"
#include "ops/admin_connection.h"
#include "ops/admin_pages.h"

namespace lossscaler::server {

// From its acceptance on; what is not over by then is cut.
inline constexpr absl::Duration kAdminConnectionTime = absl::Seconds(10);
// The next one takes the place of the oldest.
inline constexpr int kMaxAdminConnections = 64;

class AdminServer {
 public:
  // Serves from the moment it returns; port 0 is any free one. An error ends
  // the process with ExitCode::kBind. REQUIRES: !address.is_unix().
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      const ListenAddress& address, AdminPages::Sources sources);

  // Cuts what is open. Waits for the page that is being asked for, if one is.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // Where it listens, with the real port.
  const std::string& address() const { return address_; }

 private:
  using Connections = std::list<AdminConnection>;

  explicit AdminServer(AdminPages::Sources sources);

  absl::Status Listen(const ListenAddress& address);
  void Run();
  void AcceptAll();
  void DropExpired();
  int TimeoutMilliseconds() const;

  AdminPages pages_;
  std::string address_;
  int listener_ = -1;
  int events_ = -1;
  // Readable once it is to stop.
  int stop_ = -1;
  // Of the thread alone; oldest first.
  Connections connections_;
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_ADMIN_SERVER_H_
