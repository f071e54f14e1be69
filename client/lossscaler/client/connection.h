// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Connection: the service as C++ calls, retried where that is safe.
//
// Client, Session and Step are thin values over it; tests of a trainer put a
// MockConnection (lossscaler/client/mocks/mock_connection.h) in its place.
//
// Every method blocks until it has an answer, an error that retrying does not
// cure, or unavailable_budget is spent. Errors carry reasons
// (lossscaler/core/error.h).
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CLIENT_CONNECTION_H_
#define LOSSSCALER_CLIENT_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/worker_stream.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/degraded.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler {

// A session as the server describes it. Fields as in the proto's Session.
struct SessionInfo {
  std::string name;
  std::string uid;
  LossScaler config;
  LossScaler scaler;
  Current current;
  std::optional<Decision> last_decision;
  std::int64_t attempted = 0;
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::int64_t consecutive_skips = 0;
  absl::Time create_time = absl::UnixEpoch();
  std::string scaler_json;
  // Of a group; the workers not in ListSessions.
  std::optional<GroupConfig> group;
  std::vector<MemberView> workers;
  GroupPhase phase = GroupPhase::kIdle;
  std::int64_t attempt = 0;
  std::optional<Degraded> degraded;
};

// Which session a call means. An empty uid accepts any session of the name.
struct SessionRef {
  std::string name;
  std::string uid;
};

enum class IfExists { kFail, kReturnIfEqual };

struct SessionPage {
  std::vector<SessionInfo> sessions;
  std::string next_page_token;
};

struct ScaleLossCall {
  SessionRef session;
  std::optional<std::int64_t> step;
  std::span<const float> losses;
  ElementType loss_type = ElementType::kFloat32;
};

struct ScaleLossAnswer {
  std::vector<float> scaled_losses;
  double scale = 1.0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::vector<int> non_finite_losses;
  std::vector<int> overflowing_losses;
};

// How far a call to Unscale has come. Bytes are those of the gradients as
// given; they never fall.
struct UnscaleProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};

struct UnscaleCall {
  SessionRef session;
  std::optional<std::int64_t> step;
  std::span<const GradientTensor> tensors;
  bool skip_statistics = false;
  // Who asks, in a group.
  WorkerRef worker;
  // Called on the calling thread as answers arrive, at most ten times a second,
  // and once more when all have. The stream stands still meanwhile. Must not
  // throw, nor call back into the Step that it is called for.
  std::function<void(const UnscaleProgress&)> on_progress;
};

struct UnscaleAnswer {
  double scale = 1.0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  // One for each tensor, in the order of the call.
  std::vector<UnscaleVerdict> tensors;
};

struct UpdateCall {
  SessionRef session;
  std::optional<std::int64_t> step;
  Vote vote;
  // True: one attempt, with this deadline (used where nobody may be held up).
  std::optional<absl::Duration> single_attempt;
};

struct UpdateAnswer {
  Decision decision;
  Current current;
};

struct RestoreAnswer {
  Decision decision;
  SessionInfo session;
};

// What a server allows. Fields as in the proto's ServerLimits; 0 where an older
// server does not say.
struct ServerLimits {
  std::int64_t max_sessions = 0;
  std::int64_t max_unscale_streams = 0;
  std::int64_t max_bytes_in_flight = 0;
  std::int64_t max_tensors_per_stream = 0;
  // Payload of one chunk.
  std::int64_t max_chunk_bytes = 0;
  std::int64_t max_losses_per_call = 0;
  // Steps back that a decision can be replayed.
  std::int64_t replayable_decisions = 0;
  // How long an Unscale stream may be silent.
  absl::Duration unscale_idle;
  // Workers of one session.
  std::int64_t max_workers_per_session = 0;
  // Open at one time; watchers and workers are not among the calls.
  std::int64_t max_watch_streams = 0;
  std::int64_t max_open_calls = 0;
  std::int64_t max_parts_per_vote = 0;
};

struct ServerInfo {
  std::string version;
  std::vector<std::string> features;
  std::string store;
  std::string durability;
  std::int64_t start_count = 0;
  std::int64_t sessions = 0;
  ServerLimits limits;
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual absl::StatusOr<SessionInfo> CreateSession(const std::string& name,
                                                    const LossScaler& scaler,
                                                    IfExists if_exists) = 0;
  virtual absl::StatusOr<SessionInfo> GetSession(const SessionRef& session) = 0;
  // page_size 0: the server's default.
  virtual absl::StatusOr<SessionPage> ListSessions(
      const std::string& prefix, int page_size,
      const std::string& page_token) = 0;
  virtual absl::Status DeleteSession(const SessionRef& session) = 0;
  // A restore is repeated, and not done again, under the same request_id;
  // empty: one of its own.
  virtual absl::StatusOr<RestoreAnswer> RestoreSession(
      const SessionRef& session, const LossScaler& state,
      std::optional<std::int64_t> if_epoch, const std::string& request_id) = 0;
  virtual absl::StatusOr<ScaleLossAnswer> ScaleLoss(
      const ScaleLossCall& call) = 0;
  virtual absl::StatusOr<UnscaleAnswer> Unscale(const UnscaleCall& call) = 0;
  virtual absl::StatusOr<UpdateAnswer> Update(const UpdateCall& call) = 0;
  virtual absl::StatusOr<ServerInfo> GetServerInfo() = 0;

  // Group sessions and journals. A connection that has none of these says
  // UNIMPLEMENTED.
  virtual absl::StatusOr<SessionInfo> CreateGroup(const std::string& name,
                                                  const LossScaler& scaler,
                                                  const GroupConfig& group,
                                                  IfExists if_exists);
  // `join.request_id` empty: one of its own. `join.new_token` says nothing: the
  // server gives the token. WORKER_HELD is waited out.
  virtual absl::StatusOr<JoinAnswer> JoinSession(const SessionRef& session,
                                                 const JoinEvent& join);
  // The same for a worker that has been a member: WORKER_HELD is an error at
  // once, for another process has its place. By default JoinSession().
  virtual absl::StatusOr<JoinAnswer> RejoinSession(const SessionRef& session,
                                                   const JoinEvent& join);
  // Who is no member any more has left.
  virtual absl::Status LeaveSession(const SessionRef& session,
                                    const WorkerRef& worker);
  // The same, within `budget` in place of unavailable_budget if that is longer.
  // By default LeaveSession().
  virtual absl::Status LeaveSessionWithin(const SessionRef& session,
                                          const WorkerRef& worker,
                                          absl::Duration budget);
  // Opens one stream, once: what it comes to is told by the events, which the
  // stream keeps until its end. Never null.
  virtual std::shared_ptr<WorkerStream> Participate(
      const SessionRef& session, const WorkerRef& worker,
      std::shared_ptr<WorkerStreamEvents> events);

  // The journal; of solo sessions too.
  virtual absl::StatusOr<DecisionPage> ListDecisions(
      const SessionRef& session, const ListDecisionsCall& call);
  // Calls `see` on the calling thread with the decisions that are kept from a
  // step on, in order, each once, until it returns false (OK). `see` must not
  // throw. Resumed where it was when the connection is lost; NOT_FOUND when the
  // session is deleted.
  virtual absl::Status WatchSession(
      const SessionRef& session, const WatchCall& call,
      const std::function<bool(const Decision&)>& see);
};

// A connection over gRPC. Connects lazily; never fails. With credentials that
// cannot be used every call fails with INVALID_CREDENTIALS, and with such a
// call id with INVALID_FIELD; nothing is sent.
std::shared_ptr<Connection> MakeConnection(const ClientOptions& options = {});

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_CONNECTION_H_
