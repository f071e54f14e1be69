// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GroupJob: a training job as real processes: a server on a state of its own,
// workers (group_worker), and a proxy between them that a test may disturb.
//
// Everything lies below one folder; what it starts it kills before it goes.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_GROUP_JOB_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_GROUP_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fault/group/history.h"
#include "fault/group/history_checker.h"
#include "fault/group/model_shelf.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"
#include "testing/faulty_proxy.h"
#include "testing/server_process.h"
#include "testing/spawned_process.h"

namespace lossscaler::testing {

struct GroupJobOptions {
  GroupConfig config;
  LossScaler scaler;
  // Of every worker, as group_worker's flags.
  std::vector<std::string> worker_flags;
};

class GroupJob {
 public:
  static constexpr char kSession[] = "job";

  // Nothing runs yet. `directory` is there.
  GroupJob(std::string directory, GroupJobOptions options);

  // A server on the job's state; waits until it serves. Named as in
  // testing/failpoint_store.h, a failpoint will kill it. False: it does not
  // start.
  bool StartServer(const std::string& failpoint = "");
  ServerProcess& server() { return *server_; }
  // Kills it and waits for its end.
  void KillServer();
  // The flags that a server of this job is started with.
  std::vector<std::string> ServerFlags() const;

  // Creates the session.
  absl::Status Create();

  // A worker of the present attempt, named by its rank; in the place of the
  // rank's former process, which is killed if it still runs.
  SpawnedProcess& StartWorker(int rank,
                              const std::vector<std::string>& flags = {});
  SpawnedProcess& worker(int rank) { return *workers_.at(rank); }
  void KillWorkers();
  int workers() const { return static_cast<int>(workers_.size()); }
  static std::string NameOf(int rank);

  // Kills every worker. Those that are started from now on belong to the next
  // attempt; the step of the last checkpoint that all have, 0 if there is none.
  std::int64_t NewAttempt();
  // NewAttempt(), and starts all from that checkpoint, or from the beginning.
  std::int64_t StartAttempt(const std::vector<std::string>& flags = {});

  // Asks the server, without the proxy.
  Connection& connection() { return *connection_; }
  absl::StatusOr<SessionInfo> Session();
  // The vote of a rank on the open step has arrived.
  bool HasVoted(int rank);

  // What all processes of this rank have written so far, in order.
  std::vector<Observation> Seen(int rank) const;
  // Waits until `condition` holds; false after a minute, which bounds only what
  // a broken program could hang.
  static bool Await(const std::function<bool()>& condition);
  // Waits until the rank has written such a line.
  bool AwaitSeen(
      int rank, const std::function<bool(const Observation&)>& condition) const;
  bool AwaitDecided(int rank, std::int64_t step) const;

  // Restores the session to `scaler` and notes that it does.
  absl::Status Restore(const LossScaler& scaler, const std::string& request_id);

  FaultyProxy& proxy() { return proxy_; }

  // The journal, oldest first. The server must be up.
  absl::StatusOr<std::vector<v1::Decision>> Journal();
  // What the history checker says of all that was seen. No worker may be
  // running: what it casts meanwhile would be missed.
  std::vector<std::string> Check();

 private:
  std::string Path(const std::string& name) const;

  const std::string directory_;
  const GroupJobOptions options_;
  const ModelShelf shelf_;
  const std::string address_;
  FaultyProxy proxy_;
  std::unique_ptr<HistoryWriter> operator_history_;
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<ServerProcess> server_;
  std::vector<std::unique_ptr<SpawnedProcess>> workers_;
  std::int64_t attempt_ = 1;
  // Processes of workers so far.
  int started_ = 0;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_GROUP_JOB_H_
