// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscaleStream: one Unscale stream. Carries messages between gRPC and an
// UnscalePump and decides nothing.

#ifndef LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_
#define LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "lossscaler/client/internal/stub.h"
#include "lossscaler/client/internal/unscale_pump.h"
#include "lossscaler/client/options.h"
#include "lossscaler/v1/unscale.pb.h"

namespace lossscaler::internal {

// Thread safety: Run() once, by one thread; gRPC calls the rest.
class UnscaleStream : private Stub::UnscaleReactor {
 public:
  // `pump` has begun a stream, and `open` names what it said.
  UnscaleStream(UnscalePump* pump, v1::UnscaleOpen open);

  // Blocks until the stream has ended; see UnscalePump::WaitForStream().
  //
  // REQUIRES: CheckCredentials(options).ok().
  absl::Status Run(Stub* stub, const ClientOptions& options,
                   absl::Duration stall_timeout);

 private:
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Starts the next write if the pump has one.
  void StartNextWrite();
  // Hands an answer to the pump; false if it refuses it.
  bool Deliver();

  UnscalePump* const pump_;
  grpc::ClientContext context_;
  v1::UnscaleRequest request_;
  v1::UnscaleResponse response_;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_UNSCALE_STREAM_H_
