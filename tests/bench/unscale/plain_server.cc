// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// plain_server: the other end of `plain` in mover.h: one thread for each
// stream, and nothing is tuned.
//
// usage: plain_server ADDRESS READY_FILE

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "bench/rpc/serve.h"
#include "bench/unscale/mover.h"
#include "bench/unscale/plain.grpc.pb.h"

namespace lossscaler::bench {
namespace {

// Divides in place; whether all of it was finite, and is.
bool DivideAndTest(std::string* data) {
  auto* const values = reinterpret_cast<float*>(data->data());
  const std::size_t count = data->size() / sizeof(float);
  int bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] /= kScale;
    bad |= std::abs(values[i]) <= FLT_MAX ? 0 : 1;
  }
  return bad == 0;
}

class PlainService : public Plain::Service {
  grpc::Status Unscale(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<Gradients, Gradients>* stream) override {
    Gradients message;
    while (stream->Read(&message)) {
      if (!DivideAndTest(message.mutable_data())) {
        return grpc::Status(grpc::StatusCode::DATA_LOSS, "overflow");
      }
      if (!stream->Write(message)) break;
    }
    return grpc::Status::OK;
  }
};

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: plain_server ADDRESS READY_FILE\n", stderr);
    return 2;
  }
  lossscaler::bench::PlainService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  return lossscaler::bench::Serve(&builder, argv[1], argv[2]);
}
