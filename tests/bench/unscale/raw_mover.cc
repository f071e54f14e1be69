// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/rpc/settings.h"
#include "bench/unscale/mover.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::bench {
namespace {

enum class Answers { kEchoed, kEchoedAndKept, kSmall };

// One stream: at most kChunksInFlight messages are under way unanswered.
class RawStream
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  RawStream(std::span<std::byte> payload, std::size_t chunk_bytes,
            Answers answers)
      : payload_(payload), chunk_bytes_(chunk_bytes), answers_(answers) {}

  absl::Status Run(grpc::GenericStub* stub) {
    stub->PrepareBidiStreamingCall(&context_, "/lossscaler.bench.Raw/Move", {},
                                   this);
    StartRead(&answer_);
    {
      MutexLock lock(&mutex_);
      Send();
    }
    StartCall();
    MutexLock lock(&mutex_);
    while (!done_) ended_.Wait(&mutex_);
    if (!status_.ok()) return absl::UnavailableError(status_.error_message());
    if (sent_ == payload_.size() && under_way_ == 0 &&
        (answers_ == Answers::kSmall || returned_ == payload_.size())) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat("of ", payload_.size(), " bytes ",
                                            returned_, " came back"));
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) Send();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    Keep();
    {
      MutexLock lock(&mutex_);
      --under_way_;
      returned_ += answer_.Length();
      Send();
    }
    StartRead(&answer_);
  }

  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mutex_);
    status_ = status;
    done_ = true;
    ended_.SignalAll();
  }

 private:
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || under_way_ == kChunksInFlight) return;
    if (sent_ == payload_.size()) {
      if (!std::exchange(closed_, true)) StartWritesDone();
      return;
    }
    const std::span<std::byte> chunk = payload_.subspan(
        sent_, std::min(chunk_bytes_, payload_.size() - sent_));
    // Memory of this process that outlives the stream: nothing is copied.
    const grpc::Slice lent(chunk.data(), chunk.size(),
                           grpc::Slice::STATIC_SLICE);
    message_ = grpc::ByteBuffer(&lent, 1);
    sent_ += chunk.size();
    ++under_way_;
    writing_ = true;
    StartWrite(&message_);
  }

  // Answers come one at a time and in order.
  void Keep() {
    if (answers_ != Answers::kEchoedAndKept) return;
    std::vector<grpc::Slice> slices;
    if (!answer_.Dump(&slices).ok()) return;
    for (const grpc::Slice& slice : slices) {
      std::memcpy(payload_.data() + kept_, slice.begin(), slice.size());
      kept_ += slice.size();
    }
  }

  const std::span<std::byte> payload_;
  const std::size_t chunk_bytes_;
  const Answers answers_;
  grpc::ClientContext context_;
  grpc::ByteBuffer answer_;
  std::size_t kept_ = 0;

  Mutex mutex_;
  CondVar ended_;
  grpc::ByteBuffer message_ ABSL_GUARDED_BY(mutex_);
  std::size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t returned_ ABSL_GUARDED_BY(mutex_) = 0;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

class RawMover : public Mover {
 public:
  RawMover(const MoverOptions& options, Answers answers)
      : stub_(TunedChannel(options.address)),
        chunk_bytes_(options.chunk_bytes),
        answers_(answers) {}

  absl::Status Move(std::size_t /*stream*/,
                    std::span<float> gradients) override {
    return RawStream(std::as_writable_bytes(gradients), chunk_bytes_, answers_)
        .Run(&stub_);
  }

 private:
  grpc::GenericStub stub_;
  const std::size_t chunk_bytes_;
  const Answers answers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Mover>> MakeEchoMover(
    const MoverOptions& options) {
  return std::make_unique<RawMover>(options, Answers::kEchoed);
}

absl::StatusOr<std::unique_ptr<Mover>> MakeKeptEchoMover(
    const MoverOptions& options) {
  return std::make_unique<RawMover>(options, Answers::kEchoedAndKept);
}

absl::StatusOr<std::unique_ptr<Mover>> MakeSinkMover(
    const MoverOptions& options) {
  return std::make_unique<RawMover>(options, Answers::kSmall);
}

}  // namespace lossscaler::bench
