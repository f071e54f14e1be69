// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ParticipateReactor: one Participate call. Forwards messages between gRPC and
// a Participation.

#ifndef LOSSSCALER_SERVER_RPC_PARTICIPATE_REACTOR_H_
#define LOSSSCALER_SERVER_RPC_PARTICIPATE_REACTOR_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/group.pb.h"
#include "ops/call_gate.h"
#include "ops/idle_watchdog.h"
#include "rpc/call.h"
#include "sessions/participants.h"
#include "sessions/participation.h"
#include "sessions/registry.h"

namespace lossscaler::server {

class ParticipateReactor final
    : public grpc::ServerBidiReactor<v1::ParticipateRequest,
                                     v1::ParticipateResponse>,
      private Participation::Transport {
 public:
  // What all Participate calls of a server share; outlives them.
  struct Environment {
    Registry* registry = nullptr;
    Participants* participants = nullptr;
    IdleWatchdog* watchdog = nullptr;
    CallGate* gate = nullptr;
  };

  // The call has been counted by the gate, and gives its place there back once
  // it speaks for a worker. Deletes itself when done.
  ParticipateReactor(grpc::CallbackServerContext* context,
                     std::unique_ptr<Call> call,
                     const Environment& environment);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void StartRead() override;
  void StartWrite(const Participation::Answer& answer) override;
  void Finish(const absl::Status& status) override;

  void TakeOpen(const v1::ParticipateOpen& open);
  absl::StatusOr<std::shared_ptr<Session>> Find(const v1::ParticipateOpen& open)
      ABSL_LOCKS_EXCLUDED(call_mutex_);
  void TakeHeartbeat(const v1::Heartbeat& heartbeat);
  bool EndIdle();

  grpc::CallbackServerContext* const context_;
  // A stream may be ended while its first message is read.
  Mutex call_mutex_;
  const std::unique_ptr<Call> call_ ABSL_PT_GUARDED_BY(call_mutex_);
  bool named_ ABSL_GUARDED_BY(call_mutex_) = false;
  const Environment environment_;
  const std::shared_ptr<Participation> participation_;
  const IdleWatchdog::Id watch_;
  v1::ParticipateRequest request_;
  v1::ParticipateResponse response_;
  // Counted by the gate as one that lasts. Written before an answer leaves,
  // read when the call is done.
  bool lasting_ = false;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_PARTICIPATE_REACTOR_H_
