// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ping_server: answers empty calls by empty answers, from where gRPC calls it:
// what a call costs before anything is done for it. Has the settings of
// lossscalerd.
//
// usage: ping_server ADDRESS READY_FILE

#include <cstdio>

#include "bench/calls/ping.grpc.pb.h"
#include "bench/rpc/serve.h"
#include "bench/rpc/settings.h"
#include "lossscaler/process/set_up.h"

namespace lossscaler::bench {
namespace {

class PingService : public Ping::CallbackService {
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context,
                                 const PingRequest* /*request*/,
                                 PingResponse* /*response*/) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Run(const char* address, const char* ready_file) {
  PingService service;
  grpc::ServerBuilder builder;
  Tune(address, &builder);
  builder.RegisterService(&service);
  return Serve(&builder, address, ready_file);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: ping_server ADDRESS READY_FILE\n", stderr);
    return 2;
  }
  lossscaler::SetUpProcess();
  return lossscaler::bench::Run(argv[1], argv[2]);
}
