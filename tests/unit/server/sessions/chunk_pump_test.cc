// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/chunk_pump.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "unit/server/sessions/unscale_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Eq;
using ::testing::IsEmpty;

// One float32, which the test sees being computed and let go of.
class OneFloat final : public ChunkPump::Payload {
 public:
  OneFloat(float value, std::function<void()> on_compute, int* alive)
      : bytes_(sizeof(float), '\0'),
        on_compute_(std::move(on_compute)),
        alive_(alive) {
    std::memcpy(bytes_.data(), &value, sizeof(float));
    view_[0] = bytes_;
    ++*alive_;
  }
  ~OneFloat() override { --*alive_; }

  // Asked first how large it is, then by who computes.
  Fragments data() const override {
    if (asked_++ > 0 && on_compute_) std::exchange(on_compute_, nullptr)();
    return view_;
  }

 private:
  std::string bytes_;
  std::array<std::string_view, 1> view_;
  mutable std::function<void()> on_compute_;
  mutable int asked_ = 0;
  int* const alive_;
};

// A client whose every move the test makes. Answers that it took are its own
// until it drops them, as slices that gRPC still has would be.
class ChunkLine : public ChunkPump::Transport {
 public:
  ChunkLine() : pump_(std::in_place, this) { pump_->Start(); }

  void StartRead() override {
    EXPECT_FALSE(reading_ || ended_);
    reading_ = true;
  }
  void StartWrite(ChunkPump::Answer answer) override {
    EXPECT_FALSE(writing_ || ended_);
    writing_ = true;
    written_.push_back(std::move(answer));
  }
  void Finish(const absl::Status& status) override {
    EXPECT_FALSE(writing_ || ended_);
    ended_ = status;
  }

  // The message that was asked for has come.
  ChunkPump& Message() {
    EXPECT_TRUE(reading_);
    reading_ = false;
    return *pump_;
  }
  void Send(std::int64_t offset, float value,
            std::function<void()> on_compute = nullptr) {
    Message().TakeChunk(
        0, offset,
        std::make_unique<OneFloat>(value, std::move(on_compute), &payloads_));
  }
  // The client takes one answer, or is gone.
  void Take(bool ok = true) {
    ASSERT_TRUE(writing_);
    writing_ = false;
    pump_->Written(ok);
  }
  void TakeAll() {
    while (writing_) Take();
  }
  // As when the call is over.
  void Hang() { pump_.reset(); }
  void DropAnswers() { written_.clear(); }

  bool reading() const { return reading_; }
  bool writing() const { return writing_; }
  int payloads() const { return payloads_; }
  const std::optional<absl::Status>& ended() const { return ended_; }
  ChunkPump& pump() { return *pump_; }

  // What was written, in order: an offset for each chunk.
  std::string Written() const {
    std::string text;
    for (const ChunkPump::Answer& answer : written_) {
      if (std::holds_alternative<ChunkPump::Opened>(answer)) text += "opened ";
      if (std::holds_alternative<ChunkPump::Summed>(answer)) text += "summary ";
      if (auto* const chunk = std::get_if<ChunkPump::Unscaled>(&answer)) {
        text += absl::StrCat(chunk->offset, " ");
      }
    }
    return text;
  }
  float ValueOf(std::size_t index) const {
    const auto& chunk = std::get<ChunkPump::Unscaled>(written_.at(index));
    EXPECT_THAT(chunk.answer.data.size(), Eq(sizeof(float)));
    float value;
    std::memcpy(&value, chunk.answer.data.data(), sizeof(float));
    return value;
  }

 private:
  bool reading_ = false;
  bool writing_ = false;
  int payloads_ = 0;
  std::vector<ChunkPump::Answer> written_;
  std::optional<absl::Status> ended_;
  std::optional<ChunkPump> pump_;
};

class ChunkPumpTest : public UnscaleFixture {
 protected:
  // The depth: 4 chunks and 2 answers.
  absl::StatusOr<std::unique_ptr<UnscaleStream>> NewStream(
      std::int64_t elements) {
    return UnscaleStream::Open(session_,
                               {.stream_id = NextId(),
                                .tensors = {Tensor("w", elements)},
                                .max_chunk_bytes = 8},
                               &admission_);
  }
  // A stream of `elements`, whose `opened` has been taken.
  std::unique_ptr<ChunkLine> Open(std::int64_t elements) {
    auto line = std::make_unique<ChunkLine>();
    line->Message().TakeOpen([&] { return NewStream(elements); });
    EXPECT_THAT(line->Written(), Eq("opened "));
    line->TakeAll();
    return line;
  }
};

TEST_F(ChunkPumpTest, OpensAnswersAndSums) {
  const std::unique_ptr<ChunkLine> line = Open(2);
  line->Send(0, 8);
  line->Take();
  line->Send(1, -4);
  line->Take();
  line->Message().TakeEnd();
  EXPECT_THAT(line->Written(), Eq("opened 0 1 summary "));
  EXPECT_THAT(line->ValueOf(1), Eq(2));
  EXPECT_THAT(line->ValueOf(2), Eq(-1));
  EXPECT_THAT(line->ended(), Eq(std::nullopt));
  line->Take();
  EXPECT_THAT(line->ended(), ::testing::Optional(IsOk()));
  EXPECT_FALSE(line->reading());
  EXPECT_THAT(VoteBy({"s1"}), IsOk());
}

TEST_F(ChunkPumpTest, TheNextMessageIsReadWhileOneIsComputed) {
  const std::unique_ptr<ChunkLine> line = Open(3);
  std::string seen;
  line->Send(0, 4, [&] {
    EXPECT_TRUE(line->reading());
    line->Send(1, 8);
    EXPECT_TRUE(line->reading());
    line->Send(2, 12);
    // One computes: the others wait for their turn.
    seen = line->Written();
  });
  EXPECT_THAT(seen, Eq("opened "));
  EXPECT_THAT(line->Written(), Eq("opened 0 "));
  line->TakeAll();
  EXPECT_THAT(line->Written(), Eq("opened 0 1 2 "));
  EXPECT_THAT(line->ValueOf(1), Eq(1));
  EXPECT_THAT(line->ValueOf(2), Eq(2));
  EXPECT_THAT(line->ValueOf(3), Eq(3));
  EXPECT_THAT(line->payloads(), Eq(0));
}

TEST_F(ChunkPumpTest, AnAnswerIsWrittenWhileTheNextIsComputed) {
  const std::unique_ptr<ChunkLine> line = Open(3);
  line->Send(0, 4);
  line->Send(1, 4);
  // The first is under way and the second is ready.
  line->Send(2, 4, [&] {
    // The computing of the third began when the first was taken, and the
    // second went out at once.
    EXPECT_THAT(line->Written(), Eq("opened 0 1 "));
    EXPECT_TRUE(line->writing());
    line->Take();
  });
  EXPECT_THAT(line->Written(), Eq("opened 0 "));
  line->Take();
  EXPECT_THAT(line->Written(), Eq("opened 0 1 2 "));
}

// Of a client that does not read: 4 messages and 2 answers, then nothing more.
TEST_F(ChunkPumpTest, ReadsNoFurtherThanTheStreamIsDeep) {
  const std::unique_ptr<ChunkLine> line = Open(20);
  int sent = 0;
  while (line->reading()) line->Send(sent++, 4);
  EXPECT_THAT(sent, Eq(6));
  EXPECT_THAT(line->payloads(), Eq(4));
  EXPECT_THAT(line->Written(), Eq("opened 0 "));
  // Each that is taken makes room for one.
  line->Take();
  EXPECT_TRUE(line->reading());
  EXPECT_THAT(line->payloads(), Eq(3));
  line->Send(sent++, 4);
  EXPECT_FALSE(line->reading());
  line->TakeAll();
  EXPECT_THAT(line->Written(), Eq("opened 0 1 2 3 4 5 6 "));
  line->pump().Abandon();
}

TEST_F(ChunkPumpTest, AnErrorComesAfterTheAnswersBeforeIt) {
  const std::unique_ptr<ChunkLine> line = Open(20);
  line->Send(0, 4);
  line->Send(1, 4);
  line->Send(2, 4);
  line->Message().TakeError(MakeError(Reason::kMalformedMessage, "junk"));
  EXPECT_FALSE(line->reading());
  EXPECT_THAT(line->ended(), Eq(std::nullopt));
  line->TakeAll();
  EXPECT_THAT(line->Written(), Eq("opened 0 1 2 "));
  EXPECT_THAT(line->ended(),
              ::testing::Optional(IsError(Reason::kMalformedMessage)));
}

TEST_F(ChunkPumpTest, AChunkOutOfOrderEndsTheStreamAfterThoseBeforeIt) {
  const std::unique_ptr<ChunkLine> line = Open(20);
  line->Send(0, 4);
  line->Send(7, 4);
  line->Send(1, 4);
  line->TakeAll();
  EXPECT_THAT(line->Written(), Eq("opened 0 "));
  EXPECT_THAT(line->ended(),
              ::testing::Optional(IsError(Reason::kChunkOutOfOrder)));
  EXPECT_THAT(line->payloads(), Eq(0));
}

TEST_F(ChunkPumpTest, AHalfCloseThatComesEarlyWaitsForTheAnswers) {
  const std::unique_ptr<ChunkLine> complete = Open(3);
  const std::unique_ptr<ChunkLine> incomplete = Open(4);
  for (ChunkLine* const line : {complete.get(), incomplete.get()}) {
    for (int i = 0; i < 3; ++i) line->Send(i, 4);
    line->Message().TakeEnd();
    EXPECT_THAT(line->Written(), Eq("opened 0 "));
    line->TakeAll();
  }
  EXPECT_THAT(complete->Written(), Eq("opened 0 1 2 summary "));
  EXPECT_THAT(complete->ended(), ::testing::Optional(IsOk()));
  EXPECT_THAT(incomplete->Written(), Eq("opened 0 1 2 "));
  EXPECT_THAT(incomplete->ended(),
              ::testing::Optional(IsError(Reason::kStreamIncomplete)));
}

TEST_F(ChunkPumpTest, OpenComesFirstAndOnce) {
  ChunkLine chunk_first;
  chunk_first.Send(0, 4);
  EXPECT_THAT(chunk_first.ended(),
              ::testing::Optional(IsError(Reason::kChunkBeforeOpen)));
  EXPECT_THAT(chunk_first.payloads(), Eq(0));

  ChunkLine closed;
  closed.Message().TakeEnd();
  EXPECT_THAT(closed.ended(),
              ::testing::Optional(IsError(Reason::kChunkBeforeOpen)));

  const std::unique_ptr<ChunkLine> twice = Open(3);
  twice->Send(0, 4);
  bool called = false;
  twice->Message().TakeOpen([&] {
    called = true;
    return NewStream(1);
  });
  EXPECT_FALSE(called);
  twice->TakeAll();
  EXPECT_THAT(twice->Written(), Eq("opened 0 "));
  EXPECT_THAT(twice->ended(),
              ::testing::Optional(IsError(Reason::kOpenedTwice)));
}

TEST_F(ChunkPumpTest, AnOpenThatFailsEndsTheStream) {
  ChunkLine line;
  line.Message().TakeOpen([&] { return NewStream(-1); });
  EXPECT_THAT(line.Written(), IsEmpty());
  EXPECT_THAT(line.ended(),
              ::testing::Optional(IsError(Reason::kInvalidTensor)));
}

TEST_F(ChunkPumpTest, NothingIsReadBeforeTheStreamIsOpen) {
  ChunkLine line;
  line.Message().TakeOpen([&] {
    EXPECT_FALSE(line.reading());
    return NewStream(1);
  });
  EXPECT_TRUE(line.reading());
  line.pump().Abandon();
}

// A stream of chunks of 8 bytes gets one of 12: nothing is kept of it.
TEST_F(ChunkPumpTest, AChunkThatIsTooLargeIsLetGoOfAtOnce) {
  class Large final : public ChunkPump::Payload {
   public:
    explicit Large(bool* alive) : alive_(alive) {}
    ~Large() override { *alive_ = false; }
    Fragments data() const override { return view_; }

   private:
    bool* const alive_;
    const std::array<std::string_view, 1> view_ = {"123456789012"};
  };
  const std::unique_ptr<ChunkLine> line = Open(20);
  line->Send(0, 4);
  line->Send(1, 4);
  bool alive = true;
  line->Message().TakeChunk(0, 2, std::make_unique<Large>(&alive));
  // Its turn has not come, and no message after it is wanted.
  EXPECT_THAT(line->ended(), Eq(std::nullopt));
  EXPECT_FALSE(alive);
  EXPECT_FALSE(line->reading());
  line->TakeAll();
  EXPECT_THAT(line->Written(), Eq("opened 0 1 "));
  EXPECT_THAT(line->ended(),
              ::testing::Optional(IsError(Reason::kChunkTooLarge)));
}

// ---- The client goes away -----------------------------------------------

TEST_F(ChunkPumpTest, ACancelEndsTheStreamOnceInEveryState) {
  const auto cancelled =
      ::testing::Optional(HasCode(absl::StatusCode::kCancelled));
  {
    ChunkLine fresh;
    fresh.pump().Abandon();
    EXPECT_THAT(fresh.ended(), cancelled);
    fresh.pump().Abandon();
    // The read that was under way ends, too.
    fresh.Message().TakeEnd();
  }
  {
    ChunkLine opening;
    opening.Message().TakeOpen([&] {
      opening.pump().Abandon();
      EXPECT_THAT(opening.ended(), Eq(std::nullopt));
      return NewStream(1);
    });
    EXPECT_THAT(opening.ended(), cancelled);
    EXPECT_THAT(opening.Written(), IsEmpty());
  }
  {
    const std::unique_ptr<ChunkLine> reading = Open(2);
    reading->pump().Abandon();
    EXPECT_THAT(reading->ended(), cancelled);
    // A message that crossed it.
    reading->Send(0, 4);
    EXPECT_THAT(reading->payloads(), Eq(0));
  }
  {
    const std::unique_ptr<ChunkLine> computing = Open(2);
    computing->Send(0, 4, [&] {
      computing->pump().Abandon();
      EXPECT_THAT(computing->ended(), Eq(std::nullopt));
    });
    EXPECT_THAT(computing->ended(), cancelled);
    EXPECT_THAT(computing->Written(), Eq("opened "));
  }
  {
    const std::unique_ptr<ChunkLine> writing = Open(20);
    int sent = 0;
    while (writing->reading()) writing->Send(sent++, 4);
    writing->pump().Abandon();
    // gRPC says first what became of the write.
    EXPECT_THAT(writing->ended(), Eq(std::nullopt));
    EXPECT_THAT(writing->payloads(), Eq(0));
    writing->Take(/*ok=*/false);
    EXPECT_THAT(writing->ended(), cancelled);
    EXPECT_THAT(writing->Written(), Eq("opened 0 "));
  }
  {
    const std::unique_ptr<ChunkLine> over = Open(0);
    over->Message().TakeEnd();
    over->Take();
    over->pump().Abandon();
    EXPECT_THAT(over->ended(), ::testing::Optional(IsOk()));
  }
}

TEST_F(ChunkPumpTest, AStreamWhoseSummaryIsNotTakenLeavesNoVerdict) {
  // Cancelled while the summary is under way.
  {
    const std::unique_ptr<ChunkLine> line = Open(0);
    line->Message().TakeEnd();
    EXPECT_THAT(line->Written(), Eq("opened summary "));
    line->pump().Abandon();
    line->Take(/*ok=*/false);
  }
  EXPECT_THAT(VoteBy({"s1"}), IsError(Reason::kVerdictLost));
  // Cancelled while it waits behind an answer.
  {
    const std::unique_ptr<ChunkLine> line = Open(1);
    line->Send(0, 4);
    line->Message().TakeEnd();
    line->Take(/*ok=*/false);
    EXPECT_THAT(line->Written(), Eq("opened 0 "));
  }
  EXPECT_THAT(VoteBy({"s2"}), IsError(Reason::kVerdictLost));
  // Broken before its end was sent, although nothing is missing.
  {
    const std::unique_ptr<ChunkLine> line = Open(1);
    line->Send(0, 4);
    line->TakeAll();
    line->pump().Abandon();
  }
  EXPECT_THAT(VoteBy({"s3"}), IsError(Reason::kVerdictLost));
}

TEST_F(ChunkPumpTest, AnswersThatTheTransportStillHasStayReserved) {
  const std::unique_ptr<ChunkLine> line = Open(2);
  const std::int64_t reserved = admission_.bytes_in_flight();
  EXPECT_GT(reserved, 0);
  line->Send(0, 4);
  line->pump().Abandon();
  line->Take(/*ok=*/false);
  line->Hang();
  EXPECT_THAT(admission_.bytes_in_flight(), Eq(reserved));
  line->DropAnswers();
  EXPECT_THAT(admission_.bytes_in_flight(), Eq(0));
}

// ---- Nothing moves ------------------------------------------------------

TEST_F(ChunkPumpTest, AStreamIsIdleWhenItWaitsForTheClient) {
  const absl::Status idle = MakeError(Reason::kStreamIdle, "idle");
  {
    ChunkLine fresh;
    EXPECT_THAT(fresh.pump().EndIdle(idle), Eq(ChunkPump::Idleness::kNotSent));
    EXPECT_THAT(fresh.ended(),
                ::testing::Optional(IsError(Reason::kStreamIdle)));
    // Asked again before it is forgotten.
    EXPECT_THAT(fresh.pump().EndIdle(idle), Eq(ChunkPump::Idleness::kNotSent));
  }
  {
    const std::unique_ptr<ChunkLine> line = Open(2);
    line->Send(0, 4, [&] {
      // The server keeps the client waiting.
      EXPECT_THAT(line->pump().EndIdle(idle), Eq(ChunkPump::Idleness::kNone));
    });
    // The client does not take the answer: the call is to be cut, not ended.
    EXPECT_THAT(line->pump().EndIdle(idle), Eq(ChunkPump::Idleness::kNotTaken));
    EXPECT_THAT(line->ended(), Eq(std::nullopt));
    line->Take(/*ok=*/false);
    EXPECT_THAT(line->ended(),
                ::testing::Optional(HasCode(absl::StatusCode::kCancelled)));
  }
  {
    const std::unique_ptr<ChunkLine> line = Open(2);
    line->Send(0, 4);
    line->TakeAll();
    EXPECT_THAT(line->pump().EndIdle(idle), Eq(ChunkPump::Idleness::kNotSent));
    EXPECT_THAT(line->ended(),
                ::testing::Optional(IsError(Reason::kStreamIdle)));
  }
}

}  // namespace
}  // namespace lossscaler::server
