// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscaleReactor: one Unscale call. Forwards messages between gRPC and a
// ChunkPump, as bytes.

#ifndef LOSSSCALER_SERVER_RPC_UNSCALE_REACTOR_H_
#define LOSSSCALER_SERVER_RPC_UNSCALE_REACTOR_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/v1/unscale.pb.h"
#include "ops/call_gate.h"
#include "ops/idle_watchdog.h"
#include "ops/spare_threads.h"
#include "rpc/call.h"
#include "sessions/chunk_pump.h"
#include "sessions/registry.h"
#include "sessions/stream_admission.h"
#include "sessions/unscale_stream.h"

namespace lossscaler::server {

class UnscaleReactor final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      private ChunkPump::Transport {
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
                 std::unique_ptr<Call> call, const Environment& environment);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // All of them called in reactions, but for the Finish() of an idle stream:
  // until that, gRPC keeps the call by itself. So none needs a hold.
  void StartRead() override;
  void StartWrite(ChunkPump::Answer answer) override;
  void Finish(const absl::Status& status) override;

  absl::StatusOr<std::unique_ptr<UnscaleStream>> Open(
      const v1::UnscaleOpen& open);
  // False: the server, not the client, keeps this call waiting.
  bool EndIdle();

  grpc::CallbackServerContext* const context_;
  const std::unique_ptr<Call> call_;
  const Environment environment_;
  // The message that is read or taken apart, and the one that is written.
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  // None: the call was not admitted, and is not watched.
  std::optional<ChunkPump> pump_;
  IdleWatchdog::Id watch_ = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_UNSCALE_REACTOR_H_
