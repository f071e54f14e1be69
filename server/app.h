// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// App: one server from start to drain: credentials, store, sessions, service,
// listeners, admin port, health and ready file, in the order in which they
// depend on each other.
//
// It touches no signals and nothing else that belongs to the process, so that
// tests run several at a time; main.cc owns the process.
//
// Thread safety: Hurry() may be called from any thread while Drain() runs;
// everything else from one thread.

#ifndef LOSSSCALER_SERVER_APP_H_
#define LOSSSCALER_SERVER_APP_H_

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "lossscaler/sync/mutex.h"
#include "ops/address.h"
#include "ops/admin_server.h"
#include "ops/call_gate.h"
#include "ops/config.h"
#include "ops/event_log.h"
#include "ops/exit_code.h"
#include "ops/file_refresher.h"
#include "ops/health_monitor.h"
#include "ops/listener.h"
#include "ops/metrics.h"
#include "ops/ready_file.h"
#include "ops/repeater.h"
#include "ops/spare_threads.h"
#include "ops/tls_files.h"
#include "ops/token_file.h"
#include "ops/unix_socket_lock.h"
#include "rpc/call.h"
#include "sessions/byte_budget.h"
#include "sessions/registry.h"
#include "sessions/stream_admission.h"
#include "store/store.h"

namespace lossscaler::server {

// The names under which the standard health service knows the parts: "" is the
// whole server.
inline constexpr char kHealthOverall[] = "";
inline constexpr char kHealthService[] = "lossscaler.v1.LossScalerService";
inline constexpr char kHealthStore[] = "store";
// That the process works, whatever its store does: for those who would start it
// again otherwise.
inline constexpr char kHealthProcess[] = "process";

// The version that this was built from, such as "0.1.0".
std::string_view Version();

class App {
 public:
  // Serves from the moment it returns. An error carries the code that the
  // process should end with (ops/exit_code.h); nothing is left behind then.
  static absl::StatusOr<std::unique_ptr<App>> Start(const Config& config);

  // The same on a store that is open already; config.store is not looked at.
  static absl::StatusOr<std::unique_ptr<App>> StartWithStore(
      const Config& config, std::unique_ptr<Store> store);

  // Whether certificates, keys and tokens can be read and used, as Start()
  // does.
  static absl::Status CheckCredentials(const Config& config);

  // Stops at once if the server still serves.
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // Where it listens, with real ports, in the order of config.listen.
  const std::vector<std::string>& addresses() const { return addresses_; }

  // Where it serves HTTP for operators; empty: nowhere.
  std::string admin_address() const {
    return admin_ == nullptr ? "" : admin_->address();
  }

  // Looks at the store now instead of within the next second.
  void CheckHealth() { store_health_->Check(); }

  // Looks at certificates and tokens now instead of within the next second.
  void CheckFiles() { refresher_->Look(); }

  // Ends the server: health says NOT_SERVING, new calls and those that wait
  // for decisions are answered DRAINING, those that are open may finish within
  // the drain timeout, and what is left is cancelled. kDrained, or
  // kDrainTimedOut if something was cancelled. Call it once.
  ExitCode Drain();

  // Makes Drain() wait no longer.
  void Hurry() { gate_.StopWaiting(); }

 private:
  App(const Config& config, std::unique_ptr<Store> store);

  absl::Status Serve();
  absl::Status ParseAddresses();
  absl::Status OpenCredentials();
  absl::Status LockSockets();
  absl::Status ListenForOperators();
  absl::Status Listen();
  std::shared_ptr<grpc::ServerCredentials> CredentialsFor(
      const ListenAddress& address) const;
  void ConfigureConnections(grpc::ServerBuilder* builder) const;
  // Of all parts but the process.
  void SetHealth(bool serving);
  void WatchStore();
  void WarnOfOpenAddresses() const;
  void LogServing() const;
  void SetReady(const absl::Status& ready) ABSL_LOCKS_EXCLUDED(ready_mutex_);
  absl::Status Ready() const ABSL_LOCKS_EXCLUDED(ready_mutex_);
  MetricsSample Sample() const;
  void Close();

  // In the order of construction; destroyed the other way round. The store
  // goes before registry, observers and gate: its last answers come back to
  // them.
  const Config config_;
  mutable Mutex ready_mutex_;
  absl::Status ready_ ABSL_GUARDED_BY(ready_mutex_);
  std::atomic<bool> store_healthy_ = false;
  CallGate gate_;
  StreamAdmission admission_;
  // Places for WatchSession streams.
  ByteBudget watchers_;
  EventLog event_log_;
  Metrics metrics_;
  Registry registry_;
  const std::unique_ptr<Store> store_;
  std::unique_ptr<TokenFile> tokens_;
  std::unique_ptr<TlsFiles> tls_;
  std::shared_ptr<grpc::ServerCredentials> tls_credentials_;
  std::unique_ptr<FileRefresher> refresher_;
  Reception reception_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<SpareThreads> spare_threads_;
  std::unique_ptr<grpc::Service> service_;
  std::vector<ListenAddress> listen_;
  std::vector<std::unique_ptr<UnixSocketLock>> socket_locks_;
  Listener listener_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
  std::unique_ptr<HealthMonitor> store_health_;
  std::unique_ptr<ReadyFile> ready_file_;
  // Says now and then what the log has left out.
  Repeater suppressed_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_APP_H_
