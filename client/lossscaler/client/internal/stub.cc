// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/stub.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "lossscaler/client/internal/bulk_channels.h"
#include "lossscaler/client/internal/local_address.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/core/wire_limits.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"

namespace lossscaler::internal {
namespace {

constexpr int kKeepaliveMillis = 20'000;
constexpr int kKeepaliveTimeoutMillis = 10'000;
constexpr int kInitialBackoffMillis = 100;
// What a connection may take to come about, TLS included, also far away.
constexpr int kConnectMillis = 5'000;
constexpr int kMaxReconnectMillis = 2'000;
constexpr std::chrono::milliseconds kConnectWait(100);
constexpr char kUnscaleMethod[] = "/lossscaler.v1.LossScalerService/Unscale";
// How far a server on TCP may be ahead of us with its answers.
constexpr int kBulkLookaheadBytes = 4 << 20;

class GrpcStub : public Stub {
 public:
  GrpcStub(std::shared_ptr<grpc::Channel> channel,
           BulkChannels::MakeOne make_bulk, int bulk)
      : channel_(std::move(channel)),
        bulk_(std::make_shared<BulkChannels>(bulk, std::move(make_bulk))),
        stub_(v1::LossScalerService::NewStub(channel_)) {}

  absl::Status CreateSession(grpc::ClientContext* context,
                             const v1::CreateSessionRequest& request,
                             v1::CreateSessionResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->CreateSession(context, request, response));
  }
  absl::Status GetSession(grpc::ClientContext* context,
                          const v1::GetSessionRequest& request,
                          v1::GetSessionResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->GetSession(context, request, response));
  }
  absl::Status ListSessions(grpc::ClientContext* context,
                            const v1::ListSessionsRequest& request,
                            v1::ListSessionsResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->ListSessions(context, request, response));
  }
  absl::Status DeleteSession(grpc::ClientContext* context,
                             const v1::DeleteSessionRequest& request,
                             v1::DeleteSessionResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->DeleteSession(context, request, response));
  }
  absl::Status RestoreSession(grpc::ClientContext* context,
                              const v1::RestoreSessionRequest& request,
                              v1::RestoreSessionResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->RestoreSession(context, request, response));
  }
  absl::Status ScaleLoss(grpc::ClientContext* context,
                         const v1::ScaleLossRequest& request,
                         v1::ScaleLossResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->ScaleLoss(context, request, response));
  }
  absl::Status Update(grpc::ClientContext* context,
                      const v1::UpdateRequest& request,
                      v1::UpdateResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->Update(context, request, response));
  }
  absl::Status GetServerInfo(grpc::ClientContext* context,
                             const v1::GetServerInfoRequest& request,
                             v1::GetServerInfoResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->GetServerInfo(context, request, response));
  }
  BulkCall Unscale(grpc::ClientContext* context,
                   grpc::CompletionQueue* queue) override {
    std::unique_ptr<HeldChannel> held = bulk_->Hold();
    Connect(*context, *held->channel());
    return {.rpc = grpc::GenericStub(held->channel())
                       .PrepareCall(context, kUnscaleMethod, queue),
            .channel = std::move(held)};
  }
  absl::Status JoinSession(grpc::ClientContext* context,
                           const v1::JoinSessionRequest& request,
                           v1::JoinSessionResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->JoinSession(context, request, response));
  }
  absl::Status LeaveSession(grpc::ClientContext* context,
                            const v1::LeaveSessionRequest& request,
                            v1::LeaveSessionResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->LeaveSession(context, request, response));
  }
  absl::Status ListDecisions(grpc::ClientContext* context,
                             const v1::ListDecisionsRequest& request,
                             v1::ListDecisionsResponse* response) override {
    Connect(*context, *channel_);
    return FromGrpc(stub_->ListDecisions(context, request, response));
  }
  std::unique_ptr<ParticipateCall> Participate(
      grpc::ClientContext* context, grpc::CompletionQueue* queue) override {
    Connect(*context, *channel_);
    return stub_->PrepareAsyncParticipate(context, queue);
  }
  std::unique_ptr<DecisionReader> WatchSession(
      grpc::ClientContext* context,
      const v1::WatchSessionRequest& request) override {
    Connect(*context, *channel_);
    return stub_->WatchSession(context, request);
  }

 private:
  // A connection is only made while somebody waits for something on the
  // channel, and a call does not wait once an attempt to connect has failed. So
  // that a server which has come back is found by the next attempt, rather than
  // by gRPC's own look around every five seconds, wait here for a moment, but
  // no longer than the call may take.
  static void Connect(const grpc::ClientContext& context,
                      grpc::Channel& channel) {
    const grpc_connectivity_state state = channel.GetState(false);
    if (state != GRPC_CHANNEL_CONNECTING &&
        state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
      return;
    }
    channel.WaitForConnected(std::min(
        context.deadline(), std::chrono::system_clock::now() + kConnectWait));
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::shared_ptr<BulkChannels> bulk_;
  const std::unique_ptr<v1::LossScalerService::Stub> stub_;
};

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(
    const ClientOptions& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = options.tls->ca_certificates;
  ssl.pem_cert_chain = options.tls->certificate_chain;
  ssl.pem_private_key = options.tls->private_key;
  return grpc::SslCredentials(ssl);
}

// What all channels of a client have.
grpc::ChannelArguments ArgumentsOf(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("lossscaler-client");
  constexpr auto kMaxBytes = static_cast<int>(kMaxMessageBytes);
  arguments.SetMaxReceiveMessageSize(kMaxBytes);
  arguments.SetMaxSendMessageSize(kMaxBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMillis);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  // A stream that waits for its server is silent; pings must go on.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   kInitialBackoffMillis);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMillis);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMillis);
  // Two clients of one process do not share a connection, nor its backoff.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // gRPC's retries never help streams, and keep copies of what was sent.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // No proxy reaches this machine's own loopback or sockets.
  if (IsLocalAddress(options.address)) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  return arguments;
}

std::shared_ptr<grpc::Channel> MakeBulkChannel(const ClientOptions& options) {
  grpc::ChannelArguments arguments = ArgumentsOf(options);
  // Measured: on TCP a fixed window is worth a fifth; on a unix socket nothing
  // beats what gRPC does by itself.
  if (!IsUnixSocket(options.address)) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                     kBulkLookaheadBytes);
  }
  return grpc::CreateCustomChannel(options.address,
                                   ChannelCredentialsOf(options), arguments);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const ClientOptions& options) {
  return grpc::CreateCustomChannel(
      options.address, ChannelCredentialsOf(options), ArgumentsOf(options));
}

std::shared_ptr<Stub> MakeStub(const ClientOptions& options) {
  return std::make_shared<GrpcStub>(
      MakeChannel(options), [options] { return MakeBulkChannel(options); },
      std::clamp(options.unscale_channels, 1, kMaxUnscaleChannels));
}

std::shared_ptr<Stub> MakeStub(std::shared_ptr<grpc::Channel> channel) {
  return std::make_shared<GrpcStub>(
      channel, [channel] { return channel; }, 1);
}

}  // namespace lossscaler::internal
