// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/unscale_pump.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/core/wire_limits.h"
#include "testing/status_matchers.h"
#include "testing/unscale_peer.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::NothingToCarry;
using lossscaler::testing::OwnedAnswer;
using lossscaler::testing::RunStream;
using lossscaler::testing::UnscalePeer;
using ::testing::ElementsAre;

constexpr double kScale = 12.0;  // x / 12 rounds: dividing twice shows.

UnscalePlan MustPlan(const std::vector<GradientTensor>& tensors) {
  auto plan = PlanUnscale(tensors);
  EXPECT_THAT(plan, IsOk());
  return *std::move(plan);
}

std::vector<float> Values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i) * 1.25F + 1;
  }
  return values;
}

std::vector<float> Divided(std::vector<float> values) {
  for (float& value : values) value /= static_cast<float>(kScale);
  return values;
}

// A view of memory with strides, and which elements of the memory it has.
struct View {
  friend void PrintTo(const View& view, std::ostream* os) { *os << view.name; }

  std::string name;
  std::size_t inner_size;
  std::size_t outer_size;
  std::size_t first;
  Layout layout;
};

const View kViews[] = {
    {"Contiguous", 11, 1, 0, {.inner_stride = 1, .outer_stride = 0}},
    {"PackedMatrix", 4, 3, 2, {.inner_stride = 1, .outer_stride = 4}},
    {"Block", 4, 3, 5, {.inner_stride = 1, .outer_stride = 7}},
    {"InnerStride", 4, 3, 1, {.inner_stride = 2, .outer_stride = 9}},
    {"Transposed", 4, 3, 0, {.inner_stride = 3, .outer_stride = 1}},
    {"Backwards", 5, 1, 20, {.inner_stride = -3, .outer_stride = 0}},
    {"UpsideDown", 4, 3, 28, {.inner_stride = 1, .outer_stride = -6}},
    {"OneColumnEach", 1, 6, 3, {.inner_stride = 1, .outer_stride = 5}},
};

class PumpViewTest : public ::testing::TestWithParam<View> {
 protected:
  std::size_t Count() const {
    return GetParam().inner_size * GetParam().outer_size;
  }

  // The memory after each element of the view was divided once.
  std::vector<float> Expected(std::vector<float> memory) const {
    const View& view = GetParam();
    for (std::size_t j = 0; j < view.outer_size; ++j) {
      for (std::size_t i = 0; i < view.inner_size; ++i) {
        const std::ptrdiff_t at =
            static_cast<std::ptrdiff_t>(view.first) +
            static_cast<std::ptrdiff_t>(i) * view.layout.inner_stride +
            static_cast<std::ptrdiff_t>(j) * view.layout.outer_stride;
        memory[static_cast<std::size_t>(at)] /= static_cast<float>(kScale);
      }
    }
    return memory;
  }

  GradientTensor Tensor(std::vector<float>* memory) const {
    const View& view = GetParam();
    GradientTensor tensor;
    tensor.name = "t";
    tensor.inner_size = view.inner_size;
    tensor.outer_size = view.outer_size;
    tensor.input = tensor.output = memory->data() + view.first;
    tensor.input_layout = tensor.output_layout = view.layout;
    return tensor;
  }
};

// The rule that gradients depend on: wherever streams break, and however many
// chunks were under way, every element is divided exactly once.
TEST_P(PumpViewTest, DividesOnceWhereverStreamsBreak) {
  for (const std::size_t chunk_bytes : {4, 12, 20, 4096}) {
    const int chunks =
        static_cast<int>((Count() * 4 + chunk_bytes - 1) / chunk_bytes);
    for (int first_cut = 0; first_cut <= chunks; ++first_cut) {
      for (int second_cut = 0; second_cut <= 2; ++second_cut) {
        std::vector<float> memory = Values(32);
        const UnscalePlan plan = MustPlan({Tensor(&memory)});
        UnscalePump pump(
            plan, {.chunk_bytes = chunk_bytes, .max_chunks_in_flight = 3});
        UnscalePeer peer(plan, kScale);
        EXPECT_THAT(RunStream(&pump, &peer, first_cut),
                    HasCode(absl::StatusCode::kUnavailable));
        if (!pump.complete()) {
          // Ends well if less was left.
          const absl::Status status = RunStream(&pump, &peer, second_cut);
          EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
        }
        if (!pump.complete()) {
          EXPECT_THAT(RunStream(&pump, &peer), IsOk());
        }
        EXPECT_TRUE(pump.complete());
        EXPECT_EQ(memory, Expected(Values(32)))
            << chunk_bytes << " " << first_cut << " " << second_cut;
        EXPECT_EQ(pump.verdicts()[0].element_count, Count());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Views, PumpViewTest, ::testing::ValuesIn(kViews),
                         [](const auto& test) { return test.param.name; });

class PumpTest : public ::testing::Test {
 protected:
  // A stream that is open and has `answers` unanswered.
  void Open(UnscalePump* pump, UnscalePeer* peer) {
    peer->Serve(pump->BeginStream());
    pump->WriteDone();
    ASSERT_TRUE(pump->OnOpened(peer->Opened()));
  }

  static std::optional<OutgoingChunk> Take(UnscalePump* pump) {
    OutgoingChunk chunk;
    if (pump->TakeWrite(&chunk) != Write::kChunk) return std::nullopt;
    return chunk;
  }

  static absl::Status End(UnscalePump* pump, const absl::Status& status) {
    pump->OnStreamDone(status);
    return pump->WaitForStream(absl::InfiniteDuration(), NothingToCarry());
  }

  std::vector<float> a_ = Values(10);
  std::vector<float> b_ = Values(3);
};

TEST_F(PumpTest, SendsTensorsInOrderInChunksOfTheirOwn) {
  const UnscalePlan plan =
      MustPlan({InPlace("a", std::span(a_)), InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {.chunk_bytes = 16, .max_chunks_in_flight = 9});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  std::vector<std::string> sent;
  while (auto chunk = Take(&pump)) {
    sent.push_back(std::to_string(chunk->tensor) + "@" +
                   std::to_string(chunk->offset) + "+" +
                   std::to_string(chunk->data.size() / 4));
    EXPECT_EQ(
        chunk->data,
        std::string(reinterpret_cast<const char*>(
                        (chunk->tensor == 0 ? a_ : b_).data() + chunk->offset),
                    chunk->data.size()));
    pump.WriteDone();
  }
  EXPECT_THAT(sent, ElementsAre("0@0+4", "0@4+4", "0@8+2", "1@0+3"));
}

TEST_F(PumpTest, SendsNothingBeforeTheServerHasOpened) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  peer.Serve(pump.BeginStream());
  pump.WriteDone();
  OutgoingChunk chunk;
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kNothing);
  ASSERT_TRUE(pump.OnOpened(peer.Opened()));
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kChunk);
}

TEST_F(PumpTest, HasOneWriteUnderWayAtATime) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 4});
  UnscalePeer peer(plan, kScale);
  peer.Serve(pump.BeginStream());
  ASSERT_TRUE(pump.OnOpened(peer.Opened()));
  // `open` is still being written.
  EXPECT_EQ(Take(&pump), std::nullopt);
  pump.WriteDone();
  EXPECT_TRUE(Take(&pump).has_value());
  EXPECT_EQ(Take(&pump), std::nullopt);
  pump.WriteDone();
  EXPECT_TRUE(Take(&pump).has_value());
}

TEST_F(PumpTest, KeepsToTheBoundOfUnansweredChunks) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 4, .max_chunks_in_flight = 2});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  std::deque<OwnedAnswer> answers;
  for (int i = 0; i < 2; ++i) {
    answers.push_back(peer.Answer(*Take(&pump)));
    pump.WriteDone();
  }
  EXPECT_EQ(Take(&pump), std::nullopt);
  ASSERT_TRUE(pump.OnChunk(answers.front().View()));
  EXPECT_TRUE(Take(&pump).has_value());
  pump.WriteDone();
  EXPECT_EQ(Take(&pump), std::nullopt);
}

TEST_F(PumpTest, HalfClosesOnceAfterTheLastChunk) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  OutgoingChunk chunk;
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kChunk);
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kNothing);
  pump.WriteDone();
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kHalfClose);
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kNothing);
}

TEST_F(PumpTest, OpensTheRestOfWhatWasAnsweredOnly) {
  std::vector<float> none;
  const UnscalePlan plan =
      MustPlan({InPlace("e", std::span(none)), InPlace("a", std::span(a_)),
                InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {.chunk_bytes = 16});
  UnscalePeer peer(plan, kScale);
  EXPECT_THAT(
      pump.BeginStream(),
      ElementsAre(TensorRest{0, 0}, TensorRest{1, 0}, TensorRest{2, 0}));
  EXPECT_THAT(RunStream(&pump, &peer, 2),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(pump.BeginStream(),
              ElementsAre(TensorRest{1, 8}, TensorRest{2, 0}));
  EXPECT_THAT(RunStream(&pump, &peer, 1),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(pump.BeginStream(), ElementsAre(TensorRest{2, 0}));
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  EXPECT_EQ(a_, Divided(Values(10)));
  EXPECT_EQ(b_, Divided(Values(3)));
}

TEST_F(PumpTest, AddsUpVerdictsOverStreams) {
  a_[2] = std::numeric_limits<float>::quiet_NaN();
  a_[9] = std::numeric_limits<float>::infinity();
  const UnscalePlan plan =
      MustPlan({InPlace("a", std::span(a_)), InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {.chunk_bytes = 16});
  UnscalePeer peer(plan, kScale);
  EXPECT_THAT(RunStream(&pump, &peer, 1),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  const std::vector<UnscaleVerdict> verdicts = pump.verdicts();
  EXPECT_EQ(verdicts[0].nan_count, 1);
  EXPECT_EQ(verdicts[0].positive_infinity_count, 1);
  EXPECT_EQ(verdicts[0].first_bad_index, 2);
  EXPECT_FALSE(verdicts[1].overflow());
  // (1 + 2.25^2 + 3.5^2) / 144.
  EXPECT_NEAR(verdicts[1].sum_of_squares, 18.3125 / 144, 1e-7);
  EXPECT_EQ(verdicts[1].absolute_maximum, 3.5F / 12.0F);
}

TEST_F(PumpTest, ACallOfEmptyTensorsLearnsTheScale) {
  std::vector<float> none;
  const UnscalePlan plan = MustPlan({InPlace("e", std::span(none))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  // Broken before `opened`: the empty tensor goes along once more.
  EXPECT_THAT(pump.BeginStream(), ElementsAre(TensorRest{0, 0}));
  EXPECT_THAT(End(&pump, absl::UnavailableError("lost")),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(pump.complete());
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  EXPECT_TRUE(pump.complete());
  EXPECT_EQ(pump.opened()->scale, kScale);
}

TEST_F(PumpTest, IsCompleteWhenAStreamBreaksAfterItsLastAnswer) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  EXPECT_THAT(RunStream(&pump, &peer, 1),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(pump.complete());
}

TEST_F(PumpTest, WidensHalvesWithinTheLimitOfAMessage) {
  // 3 MiB of halves would come back as 6 MiB.
  std::vector<Eigen::half> halves(3u << 19, Eigen::half(24));
  std::vector<float> wide(halves.size());
  const UnscalePlan plan =
      MustPlan({Into("h", std::span(halves), std::span(wide))});
  UnscalePump pump(plan, {.chunk_bytes = kMaxPayloadBytes});
  UnscalePeer peer(plan, kScale);
  peer.max_chunk_bytes = kMaxPayloadBytes;
  Open(&pump, &peer);
  const auto chunk = Take(&pump);
  ASSERT_TRUE(chunk.has_value());
  EXPECT_EQ(chunk->data.size(), kMaxPayloadBytes / 2);
  EXPECT_THAT(End(&pump, absl::UnavailableError("")),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  EXPECT_EQ(wide, std::vector<float>(halves.size(), 2.0F));
}

TEST_F(PumpTest, KeepsToTheServersChunkLimit) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 1 << 20});
  UnscalePeer peer(plan, kScale);
  peer.max_chunk_bytes = 11;  // Two floats.
  Open(&pump, &peer);
  EXPECT_EQ(Take(&pump)->data.size(), 8);
}

TEST_F(PumpTest, ChecksWithoutAskingForResults) {
  const UnscalePlan plan = MustPlan({CheckOnly("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 8, .statistics = false});
  UnscalePeer peer(plan, kScale, /*statistics=*/false);
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  EXPECT_EQ(a_, Values(10));
  EXPECT_EQ(pump.verdicts()[0].element_count, 10);
}

// --- what breaks the rules ---

struct BadChunk {
  friend void PrintTo(const BadChunk& bad, std::ostream* os) {
    *os << bad.name;
  }

  std::string name;
  std::function<void(ChunkAnswer*)> spoil;
};

class PumpBadChunkTest : public ::testing::TestWithParam<BadChunk> {};

TEST_P(PumpBadChunkTest, EndsTheCallAndStoresNothing) {
  std::vector<float> a = Values(8);
  a[1] = std::numeric_limits<float>::infinity();
  const std::vector<float> before = a;
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a))});
  UnscalePump pump(plan, {.chunk_bytes = 16});
  UnscalePeer peer(plan, kScale);
  peer.Serve(pump.BeginStream());
  pump.WriteDone();
  ASSERT_TRUE(pump.OnOpened(peer.Opened()));
  OutgoingChunk chunk;
  ASSERT_EQ(pump.TakeWrite(&chunk), Write::kChunk);
  OwnedAnswer owned = peer.Answer(chunk);
  ChunkAnswer answer = owned.View();
  GetParam().spoil(&answer);
  EXPECT_FALSE(pump.OnChunk(answer));
  pump.WriteDone();
  EXPECT_EQ(pump.TakeWrite(&chunk), Write::kNothing);
  pump.OnStreamDone(absl::CancelledError("by us"));
  EXPECT_THAT(pump.WaitForStream(absl::InfiniteDuration(), NothingToCarry()),
              IsError(Reason::kMalformedAnswer));
  EXPECT_FALSE(pump.complete());
  EXPECT_EQ(std::memcmp(a.data(), before.data(), a.size() * 4), 0);
}

const BadChunk kBadChunks[] = {
    {"Tensor", [](ChunkAnswer* a) { a->tensor = 1; }},
    {"NegativeTensor", [](ChunkAnswer* a) { a->tensor = -1; }},
    {"Offset", [](ChunkAnswer* a) { a->offset = 4; }},
    {"NegativeOffset", [](ChunkAnswer* a) { a->offset = -1; }},
    {"ShortData", [](ChunkAnswer* a) { a->data = a->data.first(1); }},
    {"NoData", [](ChunkAnswer* a) { a->data = {}; }},
    {"OverflowHidden", [](ChunkAnswer* a) { a->verdict.overflow = false; }},
    {"CountHidden",
     [](ChunkAnswer* a) { a->verdict.verdict.positive_infinity_count = 0; }},
    {"CountTooLarge", [](ChunkAnswer* a) { a->verdict.verdict.nan_count = 4; }},
    {"CountNegative",
     [](ChunkAnswer* a) {
       a->verdict.verdict.nan_count = static_cast<std::uint64_t>(-1);
     }},
    {"FlushedTooLarge",
     [](ChunkAnswer* a) { a->verdict.verdict.flushed_to_zero = 5; }},
    {"IndexMissing",
     [](ChunkAnswer* a) { a->verdict.verdict.first_bad_index.reset(); }},
    {"IndexOutside",
     [](ChunkAnswer* a) { a->verdict.verdict.first_bad_index = 4; }},
    {"StatisticsMissing",
     [](ChunkAnswer* a) { a->verdict.has_statistics = false; }},
    {"SumNotANumber",
     [](ChunkAnswer* a) {
       a->verdict.verdict.sum_of_squares =
           std::numeric_limits<double>::quiet_NaN();
     }},
    {"MaximumInfinite",
     [](ChunkAnswer* a) {
       a->verdict.verdict.absolute_maximum =
           std::numeric_limits<double>::infinity();
     }},
};

INSTANTIATE_TEST_SUITE_P(Kinds, PumpBadChunkTest,
                         ::testing::ValuesIn(kBadChunks),
                         [](const auto& test) { return test.param.name; });

TEST_F(PumpTest, RefusesAnAnswerThatNobodyAskedFor) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  OwnedAnswer answer = peer.Answer(*Take(&pump));
  pump.WriteDone();
  EXPECT_TRUE(pump.OnChunk(answer.View()));
  EXPECT_FALSE(pump.OnChunk(answer.View()));
  EXPECT_THAT(End(&pump, absl::CancelledError("")),
              IsErrorSaying(Reason::kMalformedAnswer, "nothing is unanswered"));
  EXPECT_EQ(b_, Divided(Values(3)));
}

TEST_F(PumpTest, RefusesABadOpened) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  const auto refused = [&](const OpenedAnswer& opened,
                           std::optional<std::int64_t> step = std::nullopt) {
    UnscalePump pump(plan, {.step = step});
    pump.BeginStream();
    const bool taken = pump.OnOpened(opened);
    return !taken && ReasonOf(End(&pump, absl::CancelledError(""))) ==
                         Reason::kMalformedAnswer;
  };
  const OpenedAnswer good{
      .scale = 4, .step = 3, .epoch = 1, .max_chunk_bytes = 8};
  EXPECT_FALSE(refused(good));
  EXPECT_FALSE(refused(good, 3));
  EXPECT_TRUE(refused(good, 4));
  for (const double scale :
       {0.0, -1.0, 1e-40, 1e39, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    OpenedAnswer bad = good;
    bad.scale = scale;
    EXPECT_TRUE(refused(bad)) << scale;
  }
  OpenedAnswer bad = good;
  bad.step = 0;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.max_chunk_bytes = 7;
  EXPECT_TRUE(refused(bad));
}

TEST_F(PumpTest, RefusesASecondOpened) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  EXPECT_FALSE(pump.OnOpened(peer.Opened()));
}

// Half of the gradients divided by one scale and half by another are garbage.
TEST_F(PumpTest, RefusesAnotherScaleOrStepAfterAResume) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 8});
  UnscalePeer peer(plan, kScale);
  EXPECT_THAT(RunStream(&pump, &peer, 1),
              HasCode(absl::StatusCode::kUnavailable));
  UnscalePeer other(plan, kScale / 2);
  EXPECT_THAT(RunStream(&pump, &other),
              IsErrorSaying(Reason::kMalformedAnswer, "resumed"));
  pump.BeginStream();
  OpenedAnswer later = peer.Opened();
  ++later.step;
  EXPECT_FALSE(pump.OnOpened(later));
}

TEST_F(PumpTest, RefusesASummaryBeforeTheLastAnswer) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  peer.Answer(*Take(&pump));
  pump.WriteDone();
  EXPECT_FALSE(pump.OnSummary(peer.Summary()));
  EXPECT_THAT(End(&pump, absl::OkStatus()), IsError(Reason::kMalformedAnswer));
}

TEST_F(PumpTest, RefusesASummaryThatDiffersFromItsChunks) {
  const auto refused = [&](const std::function<void(SummaryAnswer*)>& spoil) {
    std::vector<float> b = Values(3);
    const UnscalePlan plan = MustPlan({InPlace("b", std::span(b))});
    UnscalePump pump(plan, {});
    UnscalePeer peer(plan, kScale);
    Open(&pump, &peer);
    OwnedAnswer answer = peer.Answer(*Take(&pump));
    pump.WriteDone();
    EXPECT_TRUE(pump.OnChunk(answer.View()));
    OutgoingChunk chunk;
    EXPECT_EQ(pump.TakeWrite(&chunk), Write::kHalfClose);
    SummaryAnswer summary = peer.Summary();
    spoil(&summary);
    return !pump.OnSummary(summary);
  };
  EXPECT_FALSE(refused([](SummaryAnswer*) {}));
  EXPECT_TRUE(refused([](SummaryAnswer* s) { s->element_count = 2; }));
  EXPECT_TRUE(refused([](SummaryAnswer* s) { s->element_count = -1; }));
  EXPECT_TRUE(refused([](SummaryAnswer* s) {
    s->verdict.overflow = true;
    s->verdict.verdict.nan_count = 1;
  }));
  EXPECT_TRUE(refused(
      [](SummaryAnswer* s) { s->verdict.verdict.flushed_to_zero = 1; }));
  EXPECT_TRUE(refused(
      [](SummaryAnswer* s) { s->verdict.verdict.absolute_maximum = 1; }));
  // Another order of additions is no reason to refuse.
  EXPECT_FALSE(refused([](SummaryAnswer* s) {
    s->verdict.verdict.sum_of_squares *= 1 + 1e-15;
  }));
}

TEST_F(PumpTest, RefusesAStreamThatEndsWellWithoutASummary) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  EXPECT_THAT(RunStream(&pump, &peer, 1, absl::OkStatus()),
              IsErrorSaying(Reason::kMalformedAnswer, "summary"));
}

TEST_F(PumpTest, RefusesAnUnknownAnswer) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  EXPECT_FALSE(pump.OnUnknown());
  EXPECT_THAT(End(&pump, absl::CancelledError("")),
              IsError(Reason::kMalformedAnswer));
}

// --- streams that stand still ---

TEST_F(PumpTest, CancelsAStreamOnWhichNothingMoves) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  pump.BeginStream();
  absl::Duration carried;
  int cancelled = 0;
  EXPECT_THAT(pump.WaitForStream(
                  absl::Seconds(40),
                  {.carry = [&](absl::Duration at_most) { carried += at_most; },
                   .cancel =
                       [&] {
                         EXPECT_EQ(carried, absl::Seconds(40));
                         ++cancelled;
                         pump.OnStreamDone(absl::CancelledError("by us"));
                       }}),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_EQ(cancelled, 1);
  UnscalePeer peer(plan, kScale);
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  EXPECT_EQ(b_, Divided(Values(3)));
}

// A peer that breaks the rules may be one that takes nothing either.
TEST_F(PumpTest, CancelsARefusedStreamWithoutWaitingForAStall) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  UnscalePump pump(plan, {});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  std::vector<absl::Duration> carried;
  int cancelled = 0;
  EXPECT_THAT(
      pump.WaitForStream(absl::Hours(1), {.carry =
                                              [&](absl::Duration at_most) {
                                                carried.push_back(at_most);
                                                pump.OnUnknown();
                                              },
                                          .cancel = [&] { ++cancelled; }}),
      IsError(Reason::kMalformedAnswer));
  EXPECT_EQ(cancelled, 1);
  // Once as ever, and once in the hope that it ends.
  EXPECT_THAT(carried, ElementsAre(absl::Minutes(15), absl::Seconds(1)));
}

// A chunk written in every fourth look is slow, not still.
TEST_F(PumpTest, DoesNotCancelAStreamThatMovesNowAndThen) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 4, .max_chunks_in_flight = 9});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  int looks = 0;
  EXPECT_THAT(pump.WaitForStream(
                  absl::Seconds(40),
                  {.carry =
                       [&](absl::Duration) {
                         if (++looks == 36) {
                           pump.OnStreamDone(absl::AbortedError("by it"));
                         } else if (looks % 4 == 0) {
                           ASSERT_TRUE(Take(&pump));
                           pump.WriteDone();
                         }
                       },
                   .cancel = [] { ADD_FAILURE() << "it moves"; }}),
              HasCode(absl::StatusCode::kAborted));
}

// What is frozen at its other end may hold on to a cancelled stream for ever.
TEST_F(PumpTest, GivesUpAStreamThatDoesNotEndAndGoesOnWithTheNext) {
  const UnscalePlan plan = MustPlan({InPlace("a", std::span(a_))});
  UnscalePump pump(plan, {.chunk_bytes = 16});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  const std::optional<OutgoingChunk> first = Take(&pump);
  pump.WriteDone();
  ASSERT_TRUE(pump.OnChunk(peer.Answer(*first).View()));
  const std::optional<OutgoingChunk> stuck = Take(&pump);
  int cancelled = 0;
  EXPECT_THAT(
      pump.WaitForStream(absl::Seconds(4), {.carry = [](absl::Duration) {},
                                            .cancel = [&] { ++cancelled; }}),
      HasCode(absl::StatusCode::kUnavailable));
  EXPECT_EQ(cancelled, 1);
  EXPECT_THAT(RunStream(&pump, &peer), IsOk());
  EXPECT_EQ(a_, Divided(Values(10)));
  // What was under way is as it was sent.
  const std::vector<float> sent = Values(10);
  EXPECT_EQ(stuck->data,
            std::string(reinterpret_cast<const char*>(sent.data() + 4), 16));
}

// Three chunks of one element; a stream gets `moves` steps far: it is opened,
// then chunks are sent and answered one by one, then it is half-closed.
TEST_F(PumpTest, AStreamMayStandInEveryState) {
  for (int moves = 0; moves <= 8; ++moves) {
    b_ = Values(3);
    const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
    UnscalePump pump(plan, {.chunk_bytes = 4});
    UnscalePeer peer(plan, kScale);
    peer.Serve(pump.BeginStream());
    std::optional<OutgoingChunk> sent;
    for (int move = 0; move < moves; ++move) {
      if (move == 0) {
        pump.WriteDone();
        ASSERT_TRUE(pump.OnOpened(peer.Opened()));
      } else if (move == 7) {
        OutgoingChunk none;
        ASSERT_EQ(pump.TakeWrite(&none), Write::kHalfClose);
      } else if (move % 2 == 1) {
        sent = Take(&pump);
        pump.WriteDone();
      } else {
        ASSERT_TRUE(pump.OnChunk(peer.Answer(*sent).View()));
      }
    }
    EXPECT_THAT(pump.WaitForStream(absl::Seconds(4), NothingToCarry()),
                HasCode(absl::StatusCode::kUnavailable));
    EXPECT_EQ(pump.complete(), moves >= 7);
    if (!pump.complete()) {
      EXPECT_THAT(RunStream(&pump, &peer), IsOk());
    }
    EXPECT_EQ(b_, Divided(Values(3))) << moves;
  }
}

TEST_F(PumpTest, AChunkOutlivesThePump) {
  std::optional<OutgoingChunk> chunk;
  {
    const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
    UnscalePump pump(plan, {});
    UnscalePeer peer(plan, kScale);
    Open(&pump, &peer);
    chunk = Take(&pump);
    EXPECT_THAT(End(&pump, absl::UnavailableError("lost")),
                HasCode(absl::StatusCode::kUnavailable));
  }
  const std::vector<float> sent = std::exchange(b_, {});
  EXPECT_EQ(chunk->data,
            std::string(reinterpret_cast<const char*>(sent.data()), 12));
}

TEST_F(PumpTest, ShowsAWatcherTheBytesAsTheyAreAnswered) {
  const UnscalePlan plan = MustPlan({InPlace("b", std::span(b_))});
  std::vector<std::uint64_t> seen;
  UnscalePump pump(
      plan, {.chunk_bytes = 4,
             .watch = [&](std::uint64_t bytes) { seen.push_back(bytes); },
             .watch_interval = absl::Milliseconds(1)});
  UnscalePeer peer(plan, kScale);
  Open(&pump, &peer);
  StreamCarrier one_chunk_at_a_time = NothingToCarry();
  one_chunk_at_a_time.carry = [&](absl::Duration at_most) {
    EXPECT_EQ(at_most, absl::Milliseconds(1));
    if (const std::optional<OutgoingChunk> chunk = Take(&pump)) {
      pump.WriteDone();
      EXPECT_TRUE(pump.OnChunk(peer.Answer(*chunk).View()));
    } else {
      EXPECT_TRUE(pump.OnSummary(peer.Summary()));
      pump.OnStreamDone(absl::OkStatus());
    }
  };
  EXPECT_THAT(pump.WaitForStream(absl::InfiniteDuration(), one_chunk_at_a_time),
              IsOk());
  EXPECT_THAT(seen, ElementsAre(4, 8, 12));
}

TEST_F(PumpTest, DividesOnceHoweverOftenItBreaks) {
  std::vector<float> large = Values(20'000);
  std::vector<float> strided = Values(9'001);
  for (int cut = 1; cut < 60; cut += 7) {
    large = Values(20'000);
    strided = Values(9'001);
    GradientTensor every_third = InPlace("s", std::span(strided));
    every_third.inner_size = 3'000;
    every_third.input_layout = every_third.output_layout = {.inner_stride = 3};
    const UnscalePlan plan =
        MustPlan({InPlace("l", std::span(large)), every_third});
    UnscalePump pump(plan, {.chunk_bytes = 1'000});
    UnscalePeer peer(plan, kScale);
    while (!pump.complete()) {
      const absl::Status status = RunStream(&pump, &peer, cut);
      ASSERT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    }
    EXPECT_EQ(large, Divided(Values(20'000)));
    std::vector<float> expected = Values(9'001);
    for (std::size_t i = 0; i < 9'000; i += 3) {
      expected[i] /= static_cast<float>(kScale);
    }
    EXPECT_EQ(strided, expected);
    EXPECT_EQ(pump.verdicts()[1].element_count, 3'000);
  }
}

}  // namespace
}  // namespace lossscaler::internal
