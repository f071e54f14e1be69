// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// floor_server: the other end of `echo` and `sink` in mover.h. Takes streams of
// whatever and sends each message back as it is, or a few bytes for it. Reads
// ahead while it writes; has the settings of lossscalerd, and looks at nothing.
//
// usage: floor_server echo|sink ADDRESS READY_FILE

#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "bench/rpc/serve.h"
#include "bench/rpc/settings.h"
#include "grpcpp/generic/async_generic_service.h"
#include "lossscaler/process/set_up.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::bench {
namespace {

// About what a verdict takes.
constexpr std::size_t kAnswerBytes = 48;

grpc::ByteBuffer SmallAnswer() {
  const grpc::Slice slice(std::string(kAnswerBytes, 'v'));
  return grpc::ByteBuffer(&slice, 1);
}

class FloorStream : public grpc::ServerGenericBidiReactor {
 public:
  explicit FloorStream(bool echo) : echo_(echo) { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    MutexLock lock(&mutex_);
    if (!ok) {
      all_read_ = true;
      return FinishIfAnswered();
    }
    if (!echo_) message_ = SmallAnswer();
    answers_.push_back(std::move(message_));
    message_.Clear();
    if (answers_.size() == 1) StartWrite(&answers_.front());
    ReadAhead();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    if (!ok) {
      // The client is gone.
      answers_.clear();
      all_read_ = true;
      return FinishIfAnswered();
    }
    answers_.pop_front();
    if (!answers_.empty()) StartWrite(&answers_.front());
    if (std::exchange(waiting_, false)) ReadAhead();
    FinishIfAnswered();
  }

  void OnDone() override { delete this; }

 private:
  void ReadAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    waiting_ = answers_.size() >= kChunksInFlight;
    if (!waiting_) StartRead(&message_);
  }

  void FinishIfAnswered() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!all_read_ || !answers_.empty()) return;
    if (!std::exchange(finished_, true)) Finish(grpc::Status::OK);
  }

  const bool echo_;
  // Filled by one read at a time.
  grpc::ByteBuffer message_;

  Mutex mutex_;
  // The first one is being written.
  std::deque<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool all_read_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

class FloorService : public grpc::CallbackGenericService {
 public:
  explicit FloorService(bool echo) : echo_(echo) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new FloorStream(echo_);
  }

 private:
  const bool echo_;
};

int Run(bool echo, const std::string& address, const std::string& ready_file) {
  FloorService service(echo);
  grpc::ServerBuilder builder;
  Tune(address, &builder);
  builder.RegisterCallbackGenericService(&service);
  return Serve(&builder, address, ready_file);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  const std::string_view what = argc == 4 ? argv[1] : "";
  if (what != "echo" && what != "sink") {
    std::fputs("usage: floor_server echo|sink ADDRESS READY_FILE\n", stderr);
    return 2;
  }
  lossscaler::SetUpProcess();
  return lossscaler::bench::Run(what == "echo", argv[2], argv[3]);
}
