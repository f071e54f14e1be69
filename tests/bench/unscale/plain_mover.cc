// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/unscale/mover.h"
#include "bench/unscale/plain.grpc.pb.h"
#include "grpcpp/create_channel.h"

namespace lossscaler::bench {
namespace {

class PlainMover : public Mover {
 public:
  explicit PlainMover(const MoverOptions& options)
      : stub_(Plain::NewStub(grpc::CreateChannel(
            options.address, grpc::InsecureChannelCredentials()))),
        chunk_bytes_(options.chunk_bytes) {}

  absl::Status Move(std::size_t /*stream*/,
                    std::span<float> gradients) override {
    const std::span<std::byte> payload = std::as_writable_bytes(gradients);
    grpc::ClientContext context;
    const auto stream = stub_->Unscale(&context);
    // Whoever only writes is stopped by flow control.
    std::thread writer([&] {
      Gradients message;
      for (std::size_t sent = 0; sent < payload.size();) {
        const std::size_t bytes = std::min(chunk_bytes_, payload.size() - sent);
        message.set_data(payload.data() + sent, bytes);
        if (!stream->Write(message)) return;
        sent += bytes;
      }
      stream->WritesDone();
    });
    Gradients message;
    std::size_t returned = 0;
    while (stream->Read(&message)) {
      const std::size_t bytes =
          std::min(message.data().size(), payload.size() - returned);
      std::memcpy(payload.data() + returned, message.data().data(), bytes);
      returned += bytes;
    }
    writer.join();
    const grpc::Status status = stream->Finish();
    if (!status.ok()) return absl::UnavailableError(status.error_message());
    if (returned == payload.size()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("of ", payload.size(), " bytes ", returned, " came back"));
  }

 private:
  const std::unique_ptr<Plain::Stub> stub_;
  const std::size_t chunk_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Mover>> MakePlainMover(
    const MoverOptions& options) {
  return std::make_unique<PlainMover>(options);
}

}  // namespace lossscaler::bench
