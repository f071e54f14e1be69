// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscaleReactor: one Unscale call. Forwards messages between gRPC and an
// UnscaleStream; one chunk is under way at a time.

#ifndef LOSSSCALER_SERVER_RPC_UNSCALE_REACTOR_H_
#define LOSSSCALER_SERVER_RPC_UNSCALE_REACTOR_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/unscale.pb.h"
#include "ops/call_gate.h"
#include "ops/idle_watchdog.h"
#include "ops/spare_threads.h"
#include "sessions/registry.h"
#include "sessions/unscale_stream.h"

namespace lossscaler::server {

class UnscaleReactor
    : public grpc::ServerBidiReactor<v1::UnscaleRequest, v1::UnscaleResponse> {
 public:
  // What all Unscale calls of a server share; outlives them.
  struct Environment {
    Registry* registry = nullptr;
    StreamAdmission* admission = nullptr;
    IdleWatchdog* watchdog = nullptr;
    // Null: none are held.
    SpareThreads* spare_threads = nullptr;
    CallGate* gate = nullptr;
  };

  // The call has been counted by the gate. Deletes itself when done.
  UnscaleReactor(grpc::CallbackServerContext* context,
                 const Environment& environment);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void TakeOpen(const v1::UnscaleOpen& open);
  void TakeChunk(const v1::UnscaleChunk& chunk);
  void TakeEnd();
  void Answer() ABSL_LOCKS_EXCLUDED(mutex_);
  // False: the server, not the client, keeps this call waiting.
  bool EndIdle() ABSL_LOCKS_EXCLUDED(mutex_);
  // The call ends once, whoever comes first: its messages, or the watchdog.
  void FinishOnce(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::CallbackServerContext* const context_;
  const Environment environment_;
  std::unique_ptr<UnscaleStream> stream_;
  v1::UnscaleRequest request_;
  v1::UnscaleResponse response_;
  // The response under way is the summary.
  bool ending_ = false;
  bool summary_sent_ = false;
  // The call has a place among the server's streams, and is watched.
  bool admitted_ = false;
  IdleWatchdog::Id watch_ = 0;

  Mutex mutex_;
  // Whom the call waits for: for a message of the client, for the server's
  // answer to it, or for the client to take that.
  enum class Phase { kReading, kWorking, kWriting };
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kReading;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_UNSCALE_REACTOR_H_
