// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WatchReactor: one WatchSession call. Writes the decisions of a session one
// after the other; the next is asked for when the one before is on its way, so
// that a slow reader costs one decision of memory.

#ifndef LOSSSCALER_SERVER_RPC_WATCH_REACTOR_H_
#define LOSSSCALER_SERVER_RPC_WATCH_REACTOR_H_

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/v1/group.pb.h"
#include "ops/call_gate.h"
#include "ops/idle_watchdog.h"
#include "rpc/call.h"
#include "sessions/byte_budget.h"
#include "sessions/limits.h"
#include "sessions/registry.h"
#include "sessions/session.h"

namespace lossscaler::server {

class WatchReactor final
    : public grpc::ServerWriteReactor<v1::WatchSessionResponse> {
 public:
  // What all WatchSession calls of a server share; outlives them.
  struct Environment {
    Registry* registry = nullptr;
    // Places for streams.
    ByteBudget* places = nullptr;
    IdleWatchdog* watchdog = nullptr;
    CallGate* gate = nullptr;
    Limits limits;
  };

  // The call has been counted by the gate as one that lasts. Deletes itself
  // when done.
  WatchReactor(grpc::CallbackServerContext* context, std::unique_ptr<Call> call,
               const Environment& environment);

  // Begins. Call once.
  void Start(const v1::WatchSessionRequest& request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  absl::Status Admit();
  absl::StatusOr<std::unique_ptr<DecisionWatch>> Watch(
      const v1::WatchSessionRequest& request);
  void Take(const absl::StatusOr<Decision>& decision);
  void End(const absl::Status& status);
  // Cuts the call if the client has not taken a decision since the last look.
  bool EndIdle();

  grpc::CallbackServerContext* const context_;
  const std::unique_ptr<Call> call_;
  const Environment environment_;
  bool admitted_ = false;
  std::unique_ptr<DecisionWatch> watch_;
  const IdleWatchdog::Id idle_;
  v1::WatchSessionResponse response_;
  // Writes begun and done; the second is what the last look saw of the first.
  std::atomic<int> begun_ = 0;
  std::atomic<int> done_ = 0;
  int seen_ = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_WATCH_REACTOR_H_
