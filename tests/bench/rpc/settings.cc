// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/rpc/settings.h"

#include "grpcpp/create_channel.h"

namespace lossscaler::bench {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;
constexpr int kTcpLookahead = 4 << 20;

bool IsTcp(const std::string& address) { return !address.starts_with("unix:"); }

}  // namespace

void Tune(const std::string& address, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  if (!IsTcp(address)) return;
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                              kTcpLookahead);
}

std::shared_ptr<grpc::Channel> TunedChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  if (IsTcp(address)) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kTcpLookahead);
  }
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace lossscaler::bench
