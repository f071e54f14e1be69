// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/spare_threads.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "grpc/support/cpu.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace lossscaler::server {
namespace {

// Well within the second after which a thread sleeps.
constexpr std::chrono::milliseconds kWakeInterval(400);
// Where gRPC has other threads than those known here, looking is given up.
constexpr int kMaxCounts = 100;

// As many as there can be by gRPC's own rule: whatever an event thread starts
// has its name too, until it gives itself another.
int MostEventThreads() {
  return std::clamp(static_cast<int>(gpr_cpu_num_cores()) / 2, 2, 16);
}

int CountEventThreads() {
  int count = 0;
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (name == "nexting_thread") ++count;
  }
  return std::min(count, MostEventThreads());
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
  while (held_ > 0 || awake_) changed_.Wait(&mutex_);
}

void SpareThreads::Begin() {
  {
    MutexLock lock(&mutex_);
    if (phase_ == Phase::kEnded || threads_ > 1 || counts_ == kMaxCounts) {
      return;
    }
    phase_ = Phase::kBegun;
    // Each gives itself its name when it has started.
    ++counts_;
    threads_ = CountEventThreads();
    if (threads_ < 2) return;
    awake_ = true;
  }
  StayAwake();
  Follow();
}

void SpareThreads::StayAwake() {
  MutexLock lock(&mutex_);
  if (phase_ == Phase::kEnded) {
    awake_ = false;
    changed_.SignalAll();
    return;
  }
  // The alarm rings on another thread; the call ends on the one to wake.
  alarm_.Set(std::chrono::system_clock::now() + kWakeInterval,
             [this](bool /*ok*/) {
               CallNowhere([this](std::shared_ptr<Call> call) {
                 call.reset();  // As in BeHeld().
                 StayAwake();
               });
             });
}

void SpareThreads::End() {
  {
    MutexLock lock(&mutex_);
    phase_ = Phase::kEnded;
    if (awake_) alarm_.Cancel();
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
  const int needed = std::max({1, threads_ / 2, needs_ + (votes_ ? 1 : 0)});
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
  CallNowhere([this](std::shared_ptr<Call> call) { BeHeld(std::move(call)); });
}

void SpareThreads::CallNowhere(
    const std::function<void(std::shared_ptr<Call>)>& done) {
  auto call = std::make_shared<Call>();
  Call* const started = call.get();
  nowhere_.UnaryCall(
      &started->context, "/nowhere", {}, &started->request, &started->response,
      [done, call = std::move(call)](const grpc::Status&) mutable {
        done(std::move(call));
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
