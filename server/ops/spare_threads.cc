// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/spare_threads.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace lossscaler::server {
namespace {

int CountEventThreads() {
  int count = 0;
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (name == "nexting_thread") ++count;
  }
  return count;
}

}  // namespace

struct SpareThreads::Call {
  grpc::ClientContext context;
  grpc::Slice nothing;
  grpc::ByteBuffer request{&nothing, 1};
  grpc::ByteBuffer response;
};

SpareThreads::SpareThreads()
    // Without credentials there is no connection, and a call fails at once.
    : nowhere_(grpc::CreateChannel("", nullptr)) {}

SpareThreads::~SpareThreads() {
  End();
  MutexLock lock(&mutex_);
  while (held_ > 0) changed_.Wait(&mutex_);
}

void SpareThreads::Begin() {
  {
    MutexLock lock(&mutex_);
    if (phase_ == Phase::kEnded || threads_ > 1) return;
    phase_ = Phase::kBegun;
    // Each gives itself its name when it has started.
    threads_ = CountEventThreads();
  }
  Follow();
}

void SpareThreads::End() {
  {
    MutexLock lock(&mutex_);
    phase_ = Phase::kEnded;
  }
  Follow();
}

void SpareThreads::Need() {
  {
    MutexLock lock(&mutex_);
    ++needs_;
  }
  Follow();
}

void SpareThreads::NeedNoMore() {
  {
    MutexLock lock(&mutex_);
    --needs_;
  }
  Follow();
}

void SpareThreads::NeedForVotes() {
  {
    MutexLock lock(&mutex_);
    if (votes_) return;
    votes_ = true;
  }
  Follow();
}

int SpareThreads::Spare() const {
  if (phase_ != Phase::kBegun) return 0;
  const int needed = std::max(1, needs_ + (votes_ ? 1 : 0));
  return std::max(0, threads_ - needed);
}

int SpareThreads::held() const {
  MutexLock lock(&mutex_);
  return held_;
}

void SpareThreads::Follow() {
  int more = 0;
  {
    MutexLock lock(&mutex_);
    more = Spare() - held_;
    if (more < 0) changed_.SignalAll();
    if (more <= 0) return;
    held_ += more;
  }
  for (; more > 0; --more) HoldOne();
}

void SpareThreads::HoldOne() {
  auto call = std::make_shared<Call>();
  Call* const started = call.get();
  nowhere_.UnaryCall(
      &started->context, "/nowhere", {}, &started->request, &started->response,
      [this, call = std::move(call)](const grpc::Status&) mutable {
        BeHeld(std::move(call));
      });
}

void SpareThreads::BeHeld(std::shared_ptr<Call> call) {
  // It has a share in the channel. The last share ends the threads, and must
  // not be given up on one of them.
  call.reset();
  MutexLock lock(&mutex_);
  while (held_ <= Spare()) changed_.Wait(&mutex_);
  --held_;
  changed_.SignalAll();
}

}  // namespace lossscaler::server
