// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// held_stream_server: takes streams and does nothing with them: what gRPC
// itself needs for each.
//
// usage: held_stream_server ADDRESS READY_FILE

#include <cstdio>

#include "bench/rpc/serve.h"
#include "bench/rpc/settings.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/server_builder.h"
#include "lossscaler/process/set_up.h"

namespace lossscaler::bench {
namespace {

class HeldStream : public grpc::ServerGenericBidiReactor {
 public:
  HeldStream() {
    // The client knows by them that the stream is here.
    StartSendInitialMetadata();
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

class HeldStreams : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new HeldStream();
  }
};

int Run(const char* address, const char* ready_file) {
  HeldStreams streams;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&streams);
  return Serve(&builder, address, ready_file);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: held_stream_server ADDRESS READY_FILE\n", stderr);
    return 2;
  }
  lossscaler::SetUpProcess();
  return lossscaler::bench::Run(argv[1], argv[2]);
}
