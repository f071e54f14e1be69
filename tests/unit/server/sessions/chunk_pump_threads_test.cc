// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A ChunkPump among the event threads of a transport, for thread sanitizer.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/chunk_pump.h"
#include "testing/status_matchers.h"
#include "unit/server/sessions/unscale_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsOk;
using ::testing::AnyOf;
using ::testing::Eq;

constexpr int kEventThreads = 3;
constexpr std::int64_t kChunks = 40;
constexpr std::int64_t kFloats = 64;

// The floats `first`, `first` + 1 and so on.
class Ramp final : public ChunkPump::Payload {
 public:
  explicit Ramp(std::int64_t first) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(first) + static_cast<float>(i);
    }
    view_[0] = {reinterpret_cast<const char*>(values_.data()), sizeof(values_)};
  }
  Fragments data() const override { return view_; }

 private:
  std::array<float, kFloats> values_;
  std::array<std::string_view, 1> view_;
};

// What was started is done on any of several threads, in any order.
class EventThreads : public ChunkPump::Transport {
 public:
  using Opener =
      std::function<absl::StatusOr<std::unique_ptr<UnscaleStream>>()>;

  explicit EventThreads(Opener open) : open_(std::move(open)), pump_(this) {}

  // Returns how the stream ended. Cancels it, from yet another thread, when so
  // many answers have been started.
  absl::Status Run(std::optional<int> cancel_after) {
    std::thread canceller([&] {
      if (!cancel_after.has_value()) return;
      {
        MutexLock lock(&mutex_);
        while (answers_ < *cancel_after && !ended_) changed_.Wait(&mutex_);
      }
      cancelled_ = true;
      pump_.Abandon();
    });
    pump_.Start();
    std::vector<std::thread> threads;
    for (int i = 0; i < kEventThreads; ++i) {
      threads.emplace_back([this] { Loop(); });
    }
    for (std::thread& thread : threads) thread.join();
    canceller.join();
    MutexLock lock(&mutex_);
    return *ended_;
  }

  // Of chunks, whose values were what they had to be.
  std::int64_t answered() const { return next_answer_; }

 private:
  enum class Event { kRead, kWritten };

  void StartRead() override { Push(Event::kRead); }
  void StartWrite(ChunkPump::Answer answer) override {
    if (auto* const chunk = std::get_if<ChunkPump::Unscaled>(&answer)) {
      EXPECT_THAT(chunk->offset, Eq(next_answer_ * kFloats));
      std::array<float, kFloats> values;
      ASSERT_THAT(chunk->answer.data.size(), Eq(sizeof(values)));
      std::memcpy(values.data(), chunk->answer.data.data(), sizeof(values));
      // The scale is 4.
      EXPECT_THAT(values.front(), Eq(static_cast<float>(chunk->offset) / 4));
      ++next_answer_;
    }
    Push(Event::kWritten);
    // The write may be known to be done before the buffer is back.
  }
  void Finish(const absl::Status& status) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(ended_.has_value());
    ended_ = status;
    changed_.SignalAll();
  }

  void Push(Event event) {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(ended_.has_value());
    events_.push_back(event);
    if (event == Event::kWritten) ++answers_;
    changed_.SignalAll();
  }

  void Loop() {
    while (true) {
      Event event;
      {
        MutexLock lock(&mutex_);
        while (events_.empty() && !ended_) changed_.Wait(&mutex_);
        if (events_.empty()) return;
        event = events_.front();
        events_.pop_front();
      }
      if (event == Event::kWritten) {
        pump_.Written(!cancelled_);
      } else {
        Deliver();
      }
    }
  }
  void Deliver() {
    const std::int64_t message = next_message_++;
    if (message == 0) return pump_.TakeOpen(open_);
    if (message > kChunks) return pump_.TakeEnd();
    const std::int64_t offset = (message - 1) * kFloats;
    pump_.TakeChunk(0, offset, std::make_unique<Ramp>(offset));
  }

  const Opener open_;
  // Of one read and one write at a time: the pump orders them.
  std::int64_t next_message_ = 0;
  std::int64_t next_answer_ = 0;
  std::atomic<bool> cancelled_ = false;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
  ChunkPump pump_;
};

class ChunkPumpThreads : public UnscaleFixture {
 protected:
  absl::StatusOr<std::unique_ptr<UnscaleStream>> NewStream() {
    return UnscaleStream::Open(
        session_,
        {.stream_id = NextId(), .tensors = {Tensor("w", kChunks * kFloats)}},
        &admission_);
  }
};

TEST_F(ChunkPumpThreads, AnswersComeInOrderAndTheStreamEndsOnce) {
  for (int round = 0; round < 50; ++round) {
    EventThreads threads([this] { return NewStream(); });
    EXPECT_THAT(threads.Run(std::nullopt), IsOk());
    EXPECT_THAT(threads.answered(), Eq(kChunks));
  }
}

TEST_F(ChunkPumpThreads, ACancelFromAnotherThreadEndsItOnce) {
  for (int round = 0; round < 100; ++round) {
    EventThreads threads([this] { return NewStream(); });
    // From before `opened` to after the summary.
    const int after = round % (static_cast<int>(kChunks) + 3);
    EXPECT_THAT(threads.Run(after),
                AnyOf(IsOk(), HasCode(absl::StatusCode::kCancelled)));
  }
}

}  // namespace
}  // namespace lossscaler::server
