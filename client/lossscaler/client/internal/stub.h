// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Stub: one attempt of each RPC, with errors as the rest of the library knows
// them. Tests put a fake in its place.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CLIENT_INTERNAL_STUB_H_
#define LOSSSCALER_CLIENT_INTERNAL_STUB_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/sync_stream.h"
#include "lossscaler/client/internal/bulk_channels.h"
#include "lossscaler/client/options.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"

namespace lossscaler::internal {

class Stub {
 public:
  // Of messages as they are on the wire (wire/chunk_codec.h).
  using UnscaleRpc = grpc::ClientAsyncReaderWriterInterface<grpc::ByteBuffer,
                                                            grpc::ByteBuffer>;
  struct BulkCall {
    std::unique_ptr<UnscaleRpc> rpc;
    // The channel that the call is on.
    std::unique_ptr<HeldChannel> channel;
  };
  using ParticipateCall =
      grpc::ClientAsyncReaderWriterInterface<v1::ParticipateRequest,
                                             v1::ParticipateResponse>;
  using DecisionReader = grpc::ClientReaderInterface<v1::WatchSessionResponse>;

  virtual ~Stub() = default;

  virtual absl::Status CreateSession(grpc::ClientContext* context,
                                     const v1::CreateSessionRequest& request,
                                     v1::CreateSessionResponse* response) = 0;
  virtual absl::Status GetSession(grpc::ClientContext* context,
                                  const v1::GetSessionRequest& request,
                                  v1::GetSessionResponse* response) = 0;
  virtual absl::Status ListSessions(grpc::ClientContext* context,
                                    const v1::ListSessionsRequest& request,
                                    v1::ListSessionsResponse* response) = 0;
  virtual absl::Status DeleteSession(grpc::ClientContext* context,
                                     const v1::DeleteSessionRequest& request,
                                     v1::DeleteSessionResponse* response) = 0;
  virtual absl::Status RestoreSession(grpc::ClientContext* context,
                                      const v1::RestoreSessionRequest& request,
                                      v1::RestoreSessionResponse* response) = 0;
  virtual absl::Status ScaleLoss(grpc::ClientContext* context,
                                 const v1::ScaleLossRequest& request,
                                 v1::ScaleLossResponse* response) = 0;
  virtual absl::Status Update(grpc::ClientContext* context,
                              const v1::UpdateRequest& request,
                              v1::UpdateResponse* response) = 0;
  virtual absl::Status GetServerInfo(grpc::ClientContext* context,
                                     const v1::GetServerInfoRequest& request,
                                     v1::GetServerInfoResponse* response) = 0;
  // A call on that queue; the caller starts it.
  virtual BulkCall Unscale(grpc::ClientContext* context,
                           grpc::CompletionQueue* queue) = 0;

  virtual absl::Status JoinSession(grpc::ClientContext* context,
                                   const v1::JoinSessionRequest& request,
                                   v1::JoinSessionResponse* response) = 0;
  virtual absl::Status LeaveSession(grpc::ClientContext* context,
                                    const v1::LeaveSessionRequest& request,
                                    v1::LeaveSessionResponse* response) = 0;
  virtual absl::Status ListDecisions(grpc::ClientContext* context,
                                     const v1::ListDecisionsRequest& request,
                                     v1::ListDecisionsResponse* response) = 0;
  // A call on that queue; the caller starts it.
  virtual std::unique_ptr<ParticipateCall> Participate(
      grpc::ClientContext* context, grpc::CompletionQueue* queue) = 0;
  virtual std::unique_ptr<DecisionReader> WatchSession(
      grpc::ClientContext* context, const v1::WatchSessionRequest& request) = 0;
};

inline constexpr int kMaxUnscaleChannels = 64;

// The channel of a client: connects lazily, finds a restarted server within
// about two seconds, leaves retries to us, and takes no proxy to a server on
// this machine. It has the options' transport security; the token goes with
// each call (call_credentials.h).
std::shared_ptr<grpc::Channel> MakeChannel(const ClientOptions& options);

// Such a channel for all calls but Unscale, for which there are
// options.unscale_channels like it with the windows that large streams want.
// A number of those that is none of 1 to kMaxUnscaleChannels is for the caller
// to refuse; here it is moved to the next one that is.
std::shared_ptr<Stub> MakeStub(const ClientOptions& options);

// One channel for everything.
std::shared_ptr<Stub> MakeStub(std::shared_ptr<grpc::Channel> channel);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_STUB_H_
