// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/unscale_stream.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/solo.h"
#include "store/memory_store.h"
#include "testing/caught.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"
#include "unit/server/sessions/unscale_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::Caught;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string Bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class UnscaleStreamTest : public UnscaleFixture {
 protected:
  using Opened = absl::StatusOr<std::unique_ptr<UnscaleStream>>;

  Opened Open(std::vector<StreamTensor> tensors) {
    return Open(
        StreamOpen{.stream_id = NextId(), .tensors = std::move(tensors)});
  }
  Opened Open(StreamOpen open) {
    return UnscaleStream::Open(session_, std::move(open), &admission_);
  }
  std::unique_ptr<UnscaleStream> MustOpen(std::vector<StreamTensor> tensors) {
    Opened stream = Open(std::move(tensors));
    EXPECT_THAT(stream, IsOk());
    return *std::move(stream);
  }

  absl::StatusOr<UnscaleVerdict> Send(UnscaleStream& stream, int tensor,
                                      std::int64_t offset,
                                      const std::vector<float>& values) {
    return SendBytes(stream, tensor, offset, Bytes(values));
  }
  absl::StatusOr<UnscaleVerdict> SendBytes(UnscaleStream& stream, int tensor,
                                           std::int64_t offset,
                                           std::string_view bytes) {
    absl::StatusOr<ChunkAnswer> answer =
        stream.Chunk(tensor, offset, std::array{bytes});
    if (!answer.ok()) return answer.status();
    output_.assign(reinterpret_cast<const char*>(answer->data.data()),
                   answer->data.size());
    return answer->verdict;
  }

  std::string output_;
};

// ---- What goes well -----------------------------------------------------

TEST_F(UnscaleStreamTest, ChunksComeBackDividedWithTheirVerdicts) {
  const auto stream = MustOpen({Tensor("w", 3), Tensor("b", 1)});
  EXPECT_THAT(stream->scale().scale, Eq(4.0));
  EXPECT_THAT(stream->scale().step, Eq(1));
  EXPECT_THAT(stream->scale().epoch, Eq(1));
  absl::StatusOr<UnscaleVerdict> verdict = Send(*stream, 0, 0, {4, 8});
  ASSERT_THAT(verdict, IsOk());
  EXPECT_THAT(Floats(output_), Eq(std::vector<float>{1, 2}));
  EXPECT_THAT(verdict->sum_of_squares, Eq(5.0));
  EXPECT_THAT(verdict->absolute_maximum, Eq(2.0));
  ASSERT_THAT(Send(*stream, 0, 2, {-12}), IsOk());
  EXPECT_THAT(Floats(output_), Eq(std::vector<float>{-3}));
  ASSERT_THAT(Send(*stream, 1, 0, {2}), IsOk());
  const absl::StatusOr<StreamSummary> summary = stream->Finish();
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(summary->verdict.element_count, Eq(4u));
  // 1 + 4 + 9 + 0.25.
  EXPECT_THAT(summary->verdict.sum_of_squares, Eq(14.25));
  EXPECT_THAT(summary->verdict.absolute_maximum, Eq(3.0));
  EXPECT_FALSE(summary->verdict.overflow());
  EXPECT_THAT(summary->bad_tensors, IsEmpty());
}

TEST_F(UnscaleStreamTest, ABadElementIsNamedByItsPlaceInItsTensor) {
  const auto stream = MustOpen({Tensor("a", 2), Tensor("b", 4)});
  ASSERT_THAT(Send(*stream, 0, 0, {1, 1}), IsOk());
  ASSERT_THAT(Send(*stream, 1, 0, {1, 1}), IsOk());
  const absl::StatusOr<UnscaleVerdict> verdict =
      Send(*stream, 1, 2, {1, -kInf});
  ASSERT_THAT(verdict, IsOk());
  EXPECT_THAT(verdict->first_bad_index, Optional(3u));
  const absl::StatusOr<StreamSummary> summary = stream->Finish();
  ASSERT_THAT(summary, IsOk());
  EXPECT_TRUE(summary->verdict.overflow());
  EXPECT_THAT(summary->verdict.negative_infinity_count, Eq(1u));
  // An index without its tensor says nothing.
  EXPECT_THAT(summary->verdict.first_bad_index, Eq(std::nullopt));
  ASSERT_THAT(summary->bad_tensors, SizeIs(1));
  EXPECT_THAT(summary->bad_tensors[0].tensor, Eq(1));
  EXPECT_THAT(summary->bad_tensors[0].verdict.first_bad_index, Optional(3u));
}

TEST_F(UnscaleStreamTest, TheFirst64BadTensorsAreListed) {
  std::vector<StreamTensor> tensors;
  for (int i = 0; i < 70; ++i) tensors.push_back(Tensor("", 2));
  const auto stream = MustOpen(std::move(tensors));
  for (int i = 0; i < 70; ++i) {
    // Tensor 0 is fine; the others are bad twice.
    const float value = i == 0 ? 1.0f : kInf;
    ASSERT_THAT(Send(*stream, i, 0, {value}), IsOk());
    ASSERT_THAT(Send(*stream, i, 1, {value}), IsOk());
  }
  const absl::StatusOr<StreamSummary> summary = stream->Finish();
  ASSERT_THAT(summary, IsOk());
  ASSERT_THAT(summary->bad_tensors, SizeIs(64));
  EXPECT_THAT(summary->bad_tensors.front().tensor, Eq(1));
  EXPECT_THAT(summary->bad_tensors.back().tensor, Eq(64));
  EXPECT_THAT(summary->bad_tensors.back().verdict.positive_infinity_count,
              Eq(2u));
  // All count, listed or not.
  EXPECT_THAT(summary->verdict.positive_infinity_count, Eq(138u));
}

TEST_F(UnscaleStreamTest, EmptyTensorsAreFineWhereverTheyStand) {
  const auto stream =
      MustOpen({Tensor("a", 0), Tensor("b", 1), Tensor("c", 0), Tensor("d", 0),
                Tensor("e", 1), Tensor("f", 0)});
  ASSERT_THAT(Send(*stream, 1, 0, {4}), IsOk());
  EXPECT_THAT(Send(*stream, 2, 0, {}), IsError(Reason::kChunkOutOfOrder));
  ASSERT_THAT(Send(*stream, 4, 0, {4}), IsOk());
  EXPECT_THAT(stream->Finish(), IsOk());

  const auto nothing = MustOpen({Tensor("a", 0)});
  EXPECT_THAT(Send(*nothing, 0, 0, {}), IsError(Reason::kChunkOverrun));
  const absl::StatusOr<StreamSummary> summary = nothing->Finish();
  ASSERT_THAT(summary, IsOk());
  EXPECT_THAT(summary->verdict.element_count, Eq(0u));
}

TEST_F(UnscaleStreamTest, OnlyTheListedRangesAreSent) {
  const auto stream = MustOpen({Tensor("w", 10, {{1, 2}, {3, 1}, {8, 2}})});
  EXPECT_THAT(Send(*stream, 0, 0, {1}), IsError(Reason::kChunkOutOfOrder));
  ASSERT_THAT(Send(*stream, 0, 1, {1, 1}), IsOk());
  ASSERT_THAT(Send(*stream, 0, 3, {1}), IsOk());
  const absl::StatusOr<UnscaleVerdict> verdict = Send(*stream, 0, 8, {1, kInf});
  ASSERT_THAT(verdict, IsOk());
  EXPECT_THAT(verdict->first_bad_index, Optional(9u));
  EXPECT_THAT(stream->Finish(), IsOk());
}

TEST_F(UnscaleStreamTest, CheckOnlyAnswersVerdictsOnly) {
  const Opened stream =
      Open({.stream_id = "s", .tensors = {Tensor("w", 1)}, .check_only = true});
  ASSERT_THAT(stream, IsOk());
  output_ = "left over";
  const absl::StatusOr<UnscaleVerdict> verdict = Send(**stream, 0, 0, {kInf});
  ASSERT_THAT(verdict, IsOk());
  EXPECT_TRUE(verdict->overflow());
  EXPECT_THAT(output_, IsEmpty());
}

TEST_F(UnscaleStreamTest, SixteenBitsWidenUnlessTheSameTypeIsAsked) {
  // 1.0 in float16 is 0x3c00, a quarter of it 0x3400.
  const std::string one("\x00\x3c", 2);
  for (const bool same_type : {false, true}) {
    const Opened stream = Open({.stream_id = NextId(),
                                .tensors = {{.name = "w",
                                             .type = ElementType::kFloat16,
                                             .element_count = 1}},
                                .same_type = same_type});
    ASSERT_THAT(stream, IsOk());
    ASSERT_THAT(SendBytes(**stream, 0, 0, one), IsOk());
    EXPECT_THAT(output_,
                Eq(same_type ? std::string("\x00\x34", 2) : Bytes({0.25f})));
  }
}

TEST_F(UnscaleStreamTest, WithoutStatisticsOnlyFinitenessIsTested) {
  const Opened stream = Open(
      {.stream_id = "s", .tensors = {Tensor("w", 2)}, .skip_statistics = true});
  ASSERT_THAT(stream, IsOk());
  EXPECT_FALSE((*stream)->statistics());
  const absl::StatusOr<UnscaleVerdict> verdict = Send(**stream, 0, 0, {4, NAN});
  ASSERT_THAT(verdict, IsOk());
  EXPECT_THAT(verdict->nan_count, Eq(1u));
  EXPECT_THAT(verdict->sum_of_squares, Eq(0.0));
}

// ---- What the session learns --------------------------------------------

TEST_F(UnscaleStreamTest, AFinishedStreamIsAVote) {
  {
    const auto stream = MustOpen({Tensor("w", 1)});
    ASSERT_THAT(Send(*stream, 0, 0, {kInf}), IsOk());
    ASSERT_THAT(stream->Finish(), IsOk());
  }
  const absl::StatusOr<UpdateAnswer> answer = VoteBy({"s1"});
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->decision.outcome, Eq(Outcome::kSkipOverflow));
}

TEST_F(UnscaleStreamTest, StreamsOfUnnamedTensorsCoverThemByIndex) {
  for (const ElementRange range : {ElementRange{0, 1}, ElementRange{1, 1}}) {
    const auto stream = MustOpen({Tensor("", 0), Tensor("", 2, {range})});
    ASSERT_THAT(Send(*stream, 1, range.offset, {1}), IsOk());
    ASSERT_THAT(stream->Finish(), IsOk());
  }
  EXPECT_THAT(VoteBy({"s1"}), IsErrorSaying(Reason::kVerdictLost, "#1"));
  EXPECT_THAT(VoteBy({"s1", "s2"}), IsOk());
}

TEST_F(UnscaleStreamTest, ABrokenStreamNeverBecomesAVerdict) {
  {
    const auto stream = MustOpen({Tensor("w", 2)});
    ASSERT_THAT(Send(*stream, 0, 0, {1}), IsOk());
    EXPECT_THAT(stream->Finish(), IsError(Reason::kStreamIncomplete));
  }
  {
    const auto stream = MustOpen({Tensor("w", 1)});
    ASSERT_THAT(Send(*stream, 0, 0, {1}), IsOk());
  }
  EXPECT_THAT(VoteBy({"s1"}), IsError(Reason::kVerdictLost));
  EXPECT_THAT(VoteBy({"s2"}), IsError(Reason::kVerdictLost));
}

TEST_F(UnscaleStreamTest, AStreamWhoseSummaryIsLostBecomesNoVerdict) {
  const Opened stream = Open({.stream_id = "s", .tensors = {Tensor("w", 2)}});
  ASSERT_THAT(stream, IsOk());
  ASSERT_THAT(Send(**stream, 0, 0, {1, 1}), IsOk());
  ASSERT_THAT((*stream)->Finish(), IsOk());
  (*stream)->Retract();
  EXPECT_THAT(VoteBy({"s"}), IsError(Reason::kVerdictLost));
}

TEST_F(UnscaleStreamTest, AStreamIdIsUsedOncePerStep) {
  const StreamOpen open{.stream_id = "same", .tensors = {Tensor("w", 0)}};
  ASSERT_THAT(Open(open), IsOk());
  EXPECT_THAT(Open(open), IsError(Reason::kStreamIdUsed));
}

TEST_F(UnscaleStreamTest, AnOlderStepHasItsOwnScaleAndTheNextIsAhead) {
  Caught<absl::StatusOr<SessionSnapshot>> created;
  MemoryStore store;
  environment_.store = &store;
  session_ = std::make_shared<Session>("other", &environment_);
  session_->Create(NewSession("other", "uid", *LossScaler::Dynamic(8.0, 2.0, 9),
                              "", absl::UnixEpoch()),
                   created.Callback());
  Caught<absl::StatusOr<UpdateAnswer>> vote;
  session_->Update(1, VoteOf(Verdict::kOverflow), vote.Callback());
  ASSERT_THAT(vote.at(0), IsOk());
  const StreamOpen old{
      .step = 1, .stream_id = "s", .tensors = {Tensor("w", 1)}};
  {
    const Opened stream = Open(old);
    ASSERT_THAT(stream, IsOk());
    EXPECT_THAT((*stream)->scale().scale, Eq(8.0));
    EXPECT_THAT((*stream)->scale().step, Eq(1));
  }
  StreamOpen ahead = old;
  ahead.step = 3;
  EXPECT_THAT(Open(ahead), IsError(Reason::kStepAhead));
  ahead.step = 0;
  EXPECT_THAT(Open(ahead), IsError(Reason::kInvalidField));
  session_.reset();
}

// ---- What is refused ----------------------------------------------------

TEST_F(UnscaleStreamTest, AnOpenThatIsWrongIsRefused) {
  EXPECT_THAT(Open(StreamOpen{.tensors = {Tensor("w", 1)}}),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(Open({.stream_id = "no spaces", .tensors = {Tensor("w", 1)}}),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(Open({.stream_id = "s",
                    .tensors = {Tensor("w", 1)},
                    .max_chunk_bytes = -1}),
              IsErrorSaying(Reason::kInvalidField, "max_chunk_bytes"));
  EXPECT_THAT(Open(std::vector<StreamTensor>{}), IsError(Reason::kNoTensors));
  const absl::Status many =
      Open(std::vector<StreamTensor>(101, Tensor("", 1))).status();
  EXPECT_THAT(many, IsError(Reason::kTooManyTensors));
  EXPECT_THAT(MetadataOf(many), Contains(Pair("limit", "100")));
  EXPECT_THAT(MetadataOf(many), Contains(Pair("tensors", "101")));
}

TEST_F(UnscaleStreamTest, ATensorThatIsWrongIsRefused) {
  EXPECT_THAT(Open({Tensor("w", -1)}), IsError(Reason::kInvalidTensor));
  EXPECT_THAT(Open({Tensor("w", kMin)}), IsError(Reason::kInvalidTensor));
  EXPECT_THAT(Open({Tensor("w", 1), Tensor("w", 1)}),
              IsErrorSaying(Reason::kInvalidTensor, "tensor 1"));
  // The name that an unnamed tensor gets.
  EXPECT_THAT(Open({Tensor("#1", 1), Tensor("", 1)}),
              IsError(Reason::kInvalidTensor));
  EXPECT_THAT(Open({Tensor(std::string(512, 'n'), 1)}), IsOk());
  EXPECT_THAT(Open({Tensor(std::string(513, 'n'), 1)}),
              IsErrorSaying(Reason::kInvalidTensor, "513 bytes"));
}

// Text of a message must be UTF-8: a name cut inside a character is not.
TEST_F(UnscaleStreamTest, NamesInErrorsArePrintableAscii) {
  std::string name = "x";
  while (name.size() < 600) name += "\xc3\xa9";
  const absl::Status status = Open({Tensor(name, 1)}).status();
  EXPECT_THAT(status, IsError(Reason::kInvalidTensor));
  std::string text(status.message());
  for (const auto& [key, value] : MetadataOf(status)) text += value;
  EXPECT_LT(text.size(), 2000u);
  for (const char c : text) {
    EXPECT_TRUE(c >= 0x20 && c < 0x7f) << static_cast<int>(c);
  }
}

TEST_F(UnscaleStreamTest, RangesThatAreWrongAreRefused) {
  const std::vector<std::vector<ElementRange>> wrong = {
      {{0, 0}},                   // Empty.
      {{0, -1}},                  // Negative.
      {{-1, 2}},                  // Before the start.
      {{0, 11}},                  // Beyond the end.
      {{10, 1}},                  // Likewise.
      {{0, 5}, {4, 2}},           // Overlapping.
      {{5, 1}, {0, 1}},           // Descending.
      {{kMax, 1}},                // offset + count overflows.
      {{1, kMax}},                // Likewise.
      {{kMax, kMax}},             // Likewise.
      {{kMin, kMin}},             // Likewise.
      {{0, 1}, {kMin, kMax}},     // Likewise.
      {{0, kMax}, {kMax, kMax}},  // Likewise.
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_THAT(Open({Tensor("w", 10, wrong[i])}),
                IsError(Reason::kInvalidTensor))
        << i;
  }
  EXPECT_THAT(Open({Tensor("w", 0, {{0, 1}})}),
              IsError(Reason::kInvalidTensor));
  EXPECT_THAT(Open({Tensor("w", 10, {{0, 5}, {5, 5}})}), IsOk());
}

TEST_F(UnscaleStreamTest, TheLargestTensorOverflowsNothing) {
  const auto stream = MustOpen({Tensor("w", kMax, {{0, 1}, {kMax - 2, 2}})});
  ASSERT_THAT(Send(*stream, 0, 0, {1}), IsOk());
  EXPECT_THAT(Send(*stream, 0, kMax, {1}), IsError(Reason::kChunkOutOfOrder));
  const absl::StatusOr<UnscaleVerdict> verdict =
      Send(*stream, 0, kMax - 2, {1, kInf});
  ASSERT_THAT(verdict, IsOk());
  EXPECT_THAT(verdict->first_bad_index,
              Optional(static_cast<std::uint64_t>(kMax) - 1));
  EXPECT_THAT(stream->Finish(), IsOk());
}

TEST_F(UnscaleStreamTest, ChunksMustComeInOrder) {
  const auto stream = MustOpen({Tensor("a", 4), Tensor("b", 4)});
  ASSERT_THAT(Send(*stream, 0, 0, {1, 1}), IsOk());
  const absl::Status gap = Send(*stream, 0, 3, {1}).status();
  EXPECT_THAT(gap, IsError(Reason::kChunkOutOfOrder));
  EXPECT_THAT(MetadataOf(gap), Contains(Pair("expected_offset", "2")));
  EXPECT_THAT(MetadataOf(gap), Contains(Pair("expected_tensor", "0")));
  EXPECT_THAT(Send(*stream, 0, 0, {1, 1}), IsError(Reason::kChunkOutOfOrder));
  EXPECT_THAT(Send(*stream, 1, 0, {1}), IsError(Reason::kChunkOutOfOrder));
  EXPECT_THAT(Send(*stream, 0, kMin, {1}), IsError(Reason::kChunkOutOfOrder));
  // A chunk never goes over the end of its tensor or range.
  EXPECT_THAT(Send(*stream, 0, 2, {1, 1, 1}), IsError(Reason::kChunkOverrun));
  ASSERT_THAT(Send(*stream, 0, 2, {1, 1}), IsOk());
  ASSERT_THAT(Send(*stream, 1, 0, {1, 1, 1, 1}), IsOk());
  EXPECT_THAT(Send(*stream, 1, 4, {1}), IsError(Reason::kChunkOverrun));
  EXPECT_THAT(stream->Finish(), IsOk());
}

TEST_F(UnscaleStreamTest, UnknownTensorsAreRefused) {
  const auto stream = MustOpen({Tensor("a", 4)});
  for (const int tensor : {-1, 1, std::numeric_limits<int>::max(),
                           std::numeric_limits<int>::min()}) {
    EXPECT_THAT(Send(*stream, tensor, 0, {1}), IsError(Reason::kUnknownTensor));
  }
}

TEST_F(UnscaleStreamTest, ChunksAreWholeElements) {
  const auto stream = MustOpen({Tensor("a", 4)});
  for (const std::size_t bytes : {0u, 1u, 3u, 5u}) {
    EXPECT_THAT(SendBytes(*stream, 0, 0, std::string(bytes, '\0')),
                IsError(Reason::kPartialElement))
        << bytes;
  }
}

TEST_F(UnscaleStreamTest, AnEarlyEndNamesWhatIsMissing) {
  const auto stream =
      MustOpen({Tensor("a", 1), Tensor("b", 4, {{1, 1}, {3, 1}})});
  ASSERT_THAT(Send(*stream, 0, 0, {1}), IsOk());
  ASSERT_THAT(Send(*stream, 1, 1, {1}), IsOk());
  const absl::Status status = stream->Finish().status();
  EXPECT_THAT(status, IsError(Reason::kStreamIncomplete));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("tensor", "1")));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("offset", "3")));
}

// ---- Limits -------------------------------------------------------------

// 4 MiB - 64 KiB, so that no message exceeds 4 MiB; half where the answer is
// twice as wide.
TEST_F(UnscaleStreamTest, TheLargestChunkIsHalvedWhereTheAnswerIsWider) {
  const auto largest = [&](ElementType type, bool same_type, bool check_only,
                           std::int64_t asked) {
    const Opened stream =
        Open({.stream_id = NextId(),
              .tensors = {{.name = "w", .type = type, .element_count = 1}},
              .same_type = same_type,
              .check_only = check_only,
              .max_chunk_bytes = asked});
    EXPECT_THAT(stream, IsOk());
    return (*stream)->max_chunk_bytes();
  };
  EXPECT_THAT(largest(ElementType::kFloat32, false, false, 0), Eq(4128768));
  EXPECT_THAT(largest(ElementType::kFloat64, false, false, 0), Eq(4128768));
  EXPECT_THAT(largest(ElementType::kFloat16, false, false, 0), Eq(2064384));
  EXPECT_THAT(largest(ElementType::kBFloat16, false, false, 0), Eq(2064384));
  EXPECT_THAT(largest(ElementType::kFloat16, true, false, 0), Eq(4128768));
  EXPECT_THAT(largest(ElementType::kFloat16, false, true, 0), Eq(4128768));
  EXPECT_THAT(largest(ElementType::kFloat32, false, false, 1000), Eq(1000));
  EXPECT_THAT(largest(ElementType::kFloat32, false, false, kMax), Eq(4128768));
}

TEST_F(UnscaleStreamTest, AChunkLargerThanTheLimitIsRefused) {
  const Opened stream = Open(
      {.stream_id = "s", .tensors = {Tensor("w", 100)}, .max_chunk_bytes = 8});
  ASSERT_THAT(stream, IsOk());
  const absl::Status status = Send(**stream, 0, 0, {1, 1, 1}).status();
  EXPECT_THAT(status, IsError(Reason::kChunkTooLarge));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("limit", "8")));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("bytes", "12")));
  EXPECT_THAT(Send(**stream, 0, 0, {1, 1}), IsOk());
}

TEST_F(UnscaleStreamTest, BytesAreLimitedAndTheNextIsAskedToWait) {
  StreamAdmission small(
      Limits{.max_bytes_in_flight = 10 << 20, .retry_delay = absl::Seconds(2)});
  const auto open = [&](std::int64_t max_chunk_bytes) {
    return UnscaleStream::Open(session_,
                               {.stream_id = NextId(),
                                .tensors = {Tensor("w", 1)},
                                .max_chunk_bytes = max_chunk_bytes},
                               &small);
  };
  {
    // A chunk and its answer: 7.875 MiB of 10.
    const Opened first = open(0);
    ASSERT_THAT(first, IsOk());
    EXPECT_GE(small.bytes_in_flight(), 2 * kMaxChunkBytes);
    const absl::Status status = open(0).status();
    EXPECT_THAT(status, IsError(Reason::kTooManyBytes));
    EXPECT_THAT(RetryDelayOf(status), Optional(absl::Seconds(2)));
    EXPECT_THAT(MetadataOf(status), Contains(Pair("limit", "10485760")));
    // A modest one still finds room.
    EXPECT_THAT(open(1 << 16), IsOk());
  }
  EXPECT_THAT(small.bytes_in_flight(), Eq(0));
  EXPECT_THAT(open(0), IsOk());
}

// 256 MiB for 64 streams: 4 MiB each.
TEST_F(UnscaleStreamTest, AStreamIsAsDeepAsItsShareAndAtLeastOneChunk) {
  StreamAdmission admission(
      Limits{.max_unscale_streams = 64, .max_bytes_in_flight = 256 << 20});
  struct Case {
    std::int64_t chunk;
    ElementType type;
    bool check_only;
    int chunks;
    std::int64_t mebibytes;
  };
  constexpr std::int64_t kMiB = 1 << 20;
  for (const Case& c : {
           // Two answers leave 2 MiB for chunks of 1.
           Case{kMiB, ElementType::kFloat32, false, 2, 4},
           // Two answers of 2 MiB leave nothing.
           Case{kMiB, ElementType::kFloat16, false, 1, 5},
           Case{kMiB, ElementType::kFloat32, true, 4, 4},
           // More than four are of no use.
           Case{kMiB / 4, ElementType::kFloat32, true, 4, 1},
           Case{2 * kMiB, ElementType::kFloat32, false, 1, 6},
       }) {
    const absl::StatusOr<std::unique_ptr<UnscaleStream>> stream =
        UnscaleStream::Open(
            session_,
            {.stream_id = NextId(),
             .tensors = {{.name = "w", .type = c.type, .element_count = 1}},
             .check_only = c.check_only,
             .max_chunk_bytes = c.chunk},
            &admission);
    ASSERT_THAT(stream, IsOk());
    EXPECT_THAT((*stream)->depth().chunks, Eq(c.chunks)) << c.chunk;
    EXPECT_THAT((*stream)->depth().answers, Eq(2));
    // And the description of one tensor.
    EXPECT_GT(admission.bytes_in_flight(), c.mebibytes * kMiB);
    EXPECT_LT(admission.bytes_in_flight(), c.mebibytes * kMiB + 1000);
  }
}

TEST_F(UnscaleStreamTest, WhereMemoryIsShortAStreamIsLessDeep) {
  StreamAdmission admission(
      Limits{.max_unscale_streams = 2, .max_bytes_in_flight = 9 << 20});
  std::vector<std::unique_ptr<UnscaleStream>> streams;
  const auto depth = [&] {
    absl::StatusOr<std::unique_ptr<UnscaleStream>> stream =
        UnscaleStream::Open(session_,
                            {.stream_id = NextId(),
                             .tensors = {Tensor("w", 1)},
                             .max_chunk_bytes = 1 << 20},
                            &admission);
    if (!stream.ok()) return std::pair(0, 0);
    streams.push_back(*std::move(stream));
    return std::pair(streams.back()->depth().chunks,
                     streams.back()->depth().answers);
  };
  // A share of 4.5 MiB has room for 2 chunks and 2 answers. After two of those
  // less than 1 MiB is left; when one has gone, less than 5.
  EXPECT_THAT(depth(), Pair(2, 2));
  EXPECT_THAT(depth(), Pair(2, 2));
  EXPECT_THAT(depth(), Pair(0, 0));
  streams.pop_back();
  {
    const auto taken = admission.Reserve(1 << 20);
    ASSERT_THAT(taken, IsOk());
    EXPECT_THAT(depth(), Pair(1, 2));
  }
  streams.pop_back();
  const auto taken = admission.Reserve((5 << 19) - 2000);
  ASSERT_THAT(taken, IsOk());
  EXPECT_THAT(depth(), Pair(1, 1));
}

TEST_F(UnscaleStreamTest, AnAnswerThatIsOutKeepsTheReservation) {
  std::unique_ptr<UnscaleStream> stream = MustOpen({Tensor("w", 1)});
  const std::int64_t reserved = admission_.bytes_in_flight();
  {
    const std::string bytes = Bytes({4});
    absl::StatusOr<ChunkAnswer> answer =
        stream->Chunk(0, 0, std::array{std::string_view(bytes)});
    ASSERT_THAT(answer, IsOk());
    EXPECT_THAT(reinterpret_cast<std::uintptr_t>(answer->data.data()) % 64,
                Eq(0u));
    stream.reset();
    EXPECT_THAT(admission_.bytes_in_flight(), Eq(reserved));
  }
  EXPECT_THAT(admission_.bytes_in_flight(), Eq(0));
}

TEST_F(UnscaleStreamTest, TheDescriptionOfTensorsIsPaidForToo) {
  StreamAdmission small(Limits{.max_bytes_in_flight = 1 << 20});
  StreamTensor tensor = Tensor("w", 1 << 20);
  for (std::int64_t i = 0; i < (1 << 17); ++i) {
    tensor.ranges.push_back({.offset = 2 * i, .count = 1});
  }
  // 16 bytes a range: 2 MiB, beside one chunk of 8 bytes.
  const absl::Status status =
      UnscaleStream::Open(
          session_,
          {.stream_id = NextId(), .tensors = {tensor}, .max_chunk_bytes = 8},
          &small)
          .status();
  EXPECT_THAT(status, IsError(Reason::kTooManyBytes));
  // They never fit.
  EXPECT_THAT(RetryDelayOf(status), Eq(std::nullopt));
}

}  // namespace
}  // namespace lossscaler::server
