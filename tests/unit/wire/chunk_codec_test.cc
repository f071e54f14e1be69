// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/chunk_codec.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "testing/every_field.h"

namespace lossscaler::wire {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using v1::UnscaleRequest;
using v1::UnscaleResponse;

constexpr std::int32_t kSmallest32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kLargest32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kSmallest64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLargest64 = std::numeric_limits<std::int64_t>::max();

// The encoding, written out: field number and wire type, then the value.
std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(value | 0x80);
  }
  bytes += static_cast<char>(value);
  return bytes;
}
std::string Tag(std::uint64_t field, unsigned int wire_type) {
  return Varint(field << 3 | wire_type);
}
std::string Number(std::uint64_t field, std::uint64_t value) {
  return Tag(field, 0) + Varint(value);
}
std::string Bytes(std::uint64_t field, const std::string& value) {
  return Tag(field, 2) + Varint(value.size()) + value;
}
std::string Chunk(const std::string& fields) { return Bytes(2, fields); }

std::string TensorAndOffset() { return Number(1, 3) + Number(2, 4096); }
std::string Data() { return Bytes(15, "payload"); }

// What ReadChunk() made of a message: all of it, with `data` put in.
template <typename Message>
struct Taken {
  Message message;
  ChunkHead head;
};

template <typename Message>
std::optional<Taken<Message>> Take(Fragments pieces, const std::string& whole) {
  Taken<Message> taken;
  const std::optional<ChunkHead> head = ReadChunk(pieces, &taken.message);
  if (!head) {
    EXPECT_EQ(taken.message.ByteSizeLong(), 0u) << "fields were left behind";
    return std::nullopt;
  }
  EXPECT_EQ(head->bytes + head->data_bytes, whole.size());
  EXPECT_EQ(taken.message.chunk().data(), "");
  taken.head = *head;
  if (head->data_bytes > 0) {
    taken.message.mutable_chunk()->set_data(whole.substr(head->bytes));
  }
  return taken;
}

template <typename Message>
std::optional<Taken<Message>> Take(const std::string& whole) {
  const std::string_view piece = whole;
  return Take<Message>(Fragments(&piece, 1), whole);
}

template <typename Message>
bool ParserAccepts(const std::string& bytes) {
  return Message().ParseFromString(bytes);
}

template <typename Message>
Message Parsed(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

// Unknown fields count too.
template <typename Message>
void ExpectSame(const Message& actual, const Message& expected) {
  EXPECT_TRUE(MessageDifferencer::Equals(actual, expected))
      << actual.DebugString() << "is not\n"
      << expected.DebugString();
}

template <typename Message>
void ExpectTakenAsParsed(const std::string& bytes) {
  const auto taken = Take<Message>(bytes);
  ASSERT_TRUE(taken);
  ExpectSame(taken->message, Parsed<Message>(bytes));
}

// Legal, but for the generated parser.
template <typename Message>
void ExpectLeftToTheParser(const std::string& bytes) {
  EXPECT_TRUE(ParserAccepts<Message>(bytes));
  EXPECT_FALSE(Take<Message>(bytes));
}

template <typename Message>
void ExpectIllegal(const std::string& bytes) {
  EXPECT_FALSE(ParserAccepts<Message>(bytes));
  EXPECT_FALSE(Take<Message>(bytes));
}

v1::ChunkVerdict FullChunkVerdict() {
  v1::ChunkVerdict verdict;
  verdict.set_overflow(true);
  verdict.set_nan_count(1);
  verdict.set_positive_infinity_count(2);
  verdict.set_negative_infinity_count(300);
  verdict.set_first_bad_index(70'000);
  verdict.set_sum_of_squares(0.1);
  verdict.set_absolute_maximum(1e300);
  verdict.set_flushed_to_zero(5'000'000'000);
  return verdict;
}

UnscaleRequest Request(std::int32_t tensor, std::int64_t offset) {
  UnscaleRequest request;
  request.mutable_chunk()->set_tensor(tensor);
  request.mutable_chunk()->set_offset(offset);
  return request;
}

std::vector<UnscaleRequest> Requests() {
  std::vector<UnscaleRequest> requests;
  for (std::int32_t tensor :
       {0, 1, 127, 128, 65'535, kLargest32, -1, kSmallest32}) {
    for (std::int64_t offset :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 35, kLargest64,
          std::int64_t{-1}, kSmallest64}) {
      requests.push_back(Request(tensor, offset));
    }
  }
  return requests;
}

UnscaleResponse Response(const UnscaleRequest& request) {
  UnscaleResponse response;
  response.mutable_chunk()->set_tensor(request.chunk().tensor());
  response.mutable_chunk()->set_offset(request.chunk().offset());
  return response;
}

// Each without a verdict, with an empty one, with each of its fields alone, at
// its extremes, and with all of them.
std::vector<UnscaleResponse> Responses() {
  std::vector<v1::ChunkVerdict> verdicts = {v1::ChunkVerdict(),
                                            FullChunkVerdict()};
  const auto* descriptor = v1::ChunkVerdict::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    v1::ChunkVerdict one = FullChunkVerdict();
    const auto* reflection = one.GetReflection();
    for (int j = 0; j < descriptor->field_count(); ++j) {
      if (j != i) reflection->ClearField(&one, descriptor->field(j));
    }
    verdicts.push_back(one);
  }
  for (std::int64_t extreme : {kSmallest64, kLargest64, std::int64_t{-1}}) {
    v1::ChunkVerdict verdict;
    verdict.set_nan_count(extreme);
    verdict.set_positive_infinity_count(extreme);
    verdict.set_negative_infinity_count(extreme);
    verdict.set_first_bad_index(extreme);
    verdict.set_flushed_to_zero(extreme);
    verdicts.push_back(verdict);
  }
  for (double extreme : {0.0, -0.0, std::numeric_limits<double>::max(),
                         std::numeric_limits<double>::denorm_min(),
                         std::numeric_limits<double>::infinity()}) {
    v1::ChunkVerdict verdict;
    verdict.set_first_bad_index(0);
    verdict.set_sum_of_squares(extreme);
    verdict.set_absolute_maximum(extreme);
    verdicts.push_back(verdict);
  }
  std::vector<UnscaleResponse> responses;
  for (const UnscaleRequest& request : Requests()) {
    responses.push_back(Response(request));
    for (const v1::ChunkVerdict& verdict : verdicts) {
      responses.push_back(Response(request));
      *responses.back().mutable_chunk()->mutable_verdict() = verdict;
    }
  }
  return responses;
}

template <typename Message>
void ExpectHeadAndPayloadAreTheMessage(const std::vector<Message>& messages) {
  // Around the lengths whose varints, or those of what holds them, get a byte
  // more.
  const std::vector<std::size_t> sizes = {0,
                                          1,
                                          40,
                                          100,
                                          126,
                                          127,
                                          128,
                                          16'370,
                                          16'383,
                                          16'384,
                                          std::size_t{1} << 21};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const std::size_t size : sizes) {
      // The largest, which costs most, with a few alone.
      if (size > 20'000 && i % 40 != 0) continue;
      const std::string payload(size, 'p');
      Message message = messages[i];
      const std::string written = ChunkHeadOf(message, size) + payload;
      if (size > 0) message.mutable_chunk()->set_data(payload);
      ASSERT_TRUE(written == message.SerializeAsString())
          << size << " bytes behind\n"
          << messages[i].DebugString();
      const auto taken = Take<Message>(written);
      ASSERT_TRUE(taken);
      ASSERT_EQ(taken->head.data_bytes, size);
      ASSERT_TRUE(MessageDifferencer::Equals(taken->message, message));
    }
  }
}

TEST(ChunkCodecTest, WritesAndReadsRequestsAsProtobufDoes) {
  ExpectHeadAndPayloadAreTheMessage(Requests());
}

TEST(ChunkCodecTest, WritesAndReadsResponsesAsProtobufDoes) {
  ExpectHeadAndPayloadAreTheMessage(Responses());
}

TEST(ChunkCodecTest, ReadsEveryFieldThereIs) {
  UnscaleResponse response = Response(Request(1, 2));
  *response.mutable_chunk()->mutable_verdict() = FullChunkVerdict();
  const auto taken = Take<UnscaleResponse>(ChunkHeadOf(response, 5) + "bytes");
  ASSERT_TRUE(taken);
  // Should one be added to the proto, it is to be added here.
  EXPECT_THAT(testing::UnsetFields(taken->message.chunk()), ElementsAre());
  EXPECT_THAT(testing::UnsetFields(taken->message.chunk().verdict()),
              ElementsAre());
  const auto request =
      Take<UnscaleRequest>(ChunkHeadOf(Request(1, 2), 5) + "bytes");
  ASSERT_TRUE(request);
  EXPECT_THAT(testing::UnsetFields(request->message.chunk()), ElementsAre());
}

TEST(ChunkCodecTest, ReadsAMessageHoweverItIsCut) {
  UnscaleResponse response = Response(Request(300, 70'000));
  *response.mutable_chunk()->mutable_verdict() = FullChunkVerdict();
  const std::string whole = ChunkHeadOf(response, 20) + std::string(20, 'p');
  response.mutable_chunk()->set_data(std::string(20, 'p'));
  const std::string_view view = whole;
  for (std::size_t first = 0; first <= view.size(); ++first) {
    for (std::size_t second = first; second <= view.size(); ++second) {
      const std::vector<std::string_view> pieces = {
          view.substr(0, first), view.substr(first, second - first),
          view.substr(second)};
      const auto taken = Take<UnscaleResponse>(pieces, whole);
      ASSERT_TRUE(taken) << first << " " << second;
      ASSERT_TRUE(MessageDifferencer::Equals(taken->message, response));
      ASSERT_EQ(taken->head.data_bytes, 20u);
    }
  }
}

TEST(ChunkCodecTest, ReadsManyPiecesOfOneByteWithNullOnesAmongThem) {
  const std::string whole =
      ChunkHeadOf(Request(300, 70'000), 3000) + std::string(3000, 'p');
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    pieces.emplace_back();
    pieces.push_back(std::string_view(whole).substr(i, 1));
  }
  pieces.emplace_back();
  const auto taken = Take<UnscaleRequest>(pieces, whole);
  ASSERT_TRUE(taken);
  ExpectSame(taken->message, Parsed<UnscaleRequest>(whole));
}

TEST(ChunkCodecTest, LeavesNothingOfTheMessageBefore) {
  UnscaleResponse response;
  const std::string unknown = Number(14, 9);
  const std::vector<std::string> before = {
      // With all fields, unknown ones, with `data`, of another kind, none.
      Chunk(Number(1, 8) + Number(2, 9) + Bytes(3, Number(1, 1)) + unknown),
      Chunk(Bytes(3, Number(2, 1)) + Data()),
      Chunk(TensorAndOffset()) + unknown, Bytes(1, Number(2, 7)), ""};
  for (const std::string& bytes : before) {
    for (const std::string& next :
         {Chunk(""), Chunk(Number(2, 5)), Chunk(Bytes(3, ""))}) {
      ASSERT_TRUE(response.ParseFromString(bytes));
      const std::string_view piece = next;
      ASSERT_TRUE(ReadChunk(Fragments(&piece, 1), &response));
      ExpectSame(response, Parsed<UnscaleResponse>(next));
    }
    ASSERT_TRUE(response.ParseFromString(bytes));
    EXPECT_FALSE(ReadChunk({}, &response));
    ExpectSame(response, UnscaleResponse());
  }
}

TEST(ChunkCodecTest, KeepsTheChunkOfTheMessageBefore) {
  // Which gives no memory out twice: the same address is the same object.
  google::protobuf::Arena arena;
  auto* const request =
      google::protobuf::Arena::CreateMessage<UnscaleRequest>(&arena);
  const std::string bytes = Chunk(TensorAndOffset() + Data());
  const std::string_view piece = bytes;
  ASSERT_TRUE(ReadChunk(Fragments(&piece, 1), request));
  const v1::UnscaleChunk* const chunk = &request->chunk();
  ASSERT_TRUE(ReadChunk(Fragments(&piece, 1), request));
  EXPECT_EQ(&request->chunk(), chunk);
}

TEST(ChunkCodecTest, DoesNotKeepThePayloadThatTheGeneratedParserRead) {
  UnscaleRequest request;
  request.mutable_chunk()->set_data(std::string(1 << 20, 'p'));
  const std::string bytes = Chunk(TensorAndOffset());
  const std::string_view piece = bytes;
  ASSERT_TRUE(ReadChunk(Fragments(&piece, 1), &request));
  EXPECT_LT(request.chunk().data().capacity(), 100u);
}

TEST(ChunkCodecTest, TakesChunksWithoutPayload) {
  for (const std::string& fields :
       {std::string(), TensorAndOffset(), Bytes(15, ""),
        TensorAndOffset() + Bytes(15, "")}) {
    ExpectTakenAsParsed<UnscaleRequest>(Chunk(fields));
    ExpectTakenAsParsed<UnscaleResponse>(Chunk(fields));
  }
}

TEST(ChunkCodecTest, TakesSmallFieldsInAnyOrderAndTwice) {
  ExpectTakenAsParsed<UnscaleRequest>(
      Chunk(Number(2, 1) + Number(1, 2) + Number(2, 3) + Data()));
  // Messages are merged.
  ExpectTakenAsParsed<UnscaleResponse>(Chunk(
      Bytes(3, Number(1, 1) + Number(2, 5)) + Bytes(3, Number(2, 6)) + Data()));
}

TEST(ChunkCodecTest, KeepsSmallFieldsOfANewerVersion) {
  const std::string newer = Number(7, 1) + Bytes(8, "text") + Tag(9, 1) +
                            "eightbyt" + Tag(10, 5) + "four" + Number(14, 2);
  for (const std::string& fields :
       {newer + TensorAndOffset(), TensorAndOffset() + newer,
        newer + Number(100'000, 1),
        // The number of `data` with another type.
        newer + Number(15, 3)}) {
    ExpectTakenAsParsed<UnscaleRequest>(Chunk(fields + Data()));
    ExpectTakenAsParsed<UnscaleResponse>(
        Chunk(fields + Bytes(3, newer) + Data()));
  }

  // And hands them on.
  const auto taken =
      Take<UnscaleRequest>(Chunk(newer + TensorAndOffset() + Data()));
  ASSERT_TRUE(taken);
  UnscaleRequest head = taken->message;
  head.mutable_chunk()->clear_data();
  ExpectSame(Parsed<UnscaleRequest>(ChunkHeadOf(head, 7) + "payload"),
             taken->message);
}

TEST(ChunkCodecTest, TakesHeadsUpToTheirLimit) {
  // Two bytes of tag and two of length; three of tag and length of the unknown
  // field; then tag and one byte of length of `data`, with one byte in it.
  const auto with_head_of = [](std::size_t bytes) {
    return Chunk(Bytes(8, std::string(bytes - 8, 'u')) + Bytes(15, "p"));
  };
  const auto at_limit = Take<UnscaleRequest>(with_head_of(kMaxHeadBytes));
  ASSERT_TRUE(at_limit);
  EXPECT_EQ(at_limit->head.bytes, kMaxHeadBytes);
  EXPECT_EQ(at_limit->head.data_bytes, 1u);
  ExpectLeftToTheParser<UnscaleRequest>(with_head_of(kMaxHeadBytes + 1));
  ExpectLeftToTheParser<UnscaleRequest>(with_head_of(kMaxHeadBytes + 2));

  const auto all_head_of = [](std::size_t bytes) {
    return Chunk(Bytes(8, std::string(bytes - 6, 'u')));
  };
  const auto all = Take<UnscaleRequest>(all_head_of(kMaxHeadBytes));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->head.bytes, kMaxHeadBytes);
  ExpectLeftToTheParser<UnscaleRequest>(all_head_of(kMaxHeadBytes + 1));
}

TEST(ChunkCodecTest, LeavesMessagesOfOtherKindsToTheParser) {
  ExpectLeftToTheParser<UnscaleRequest>("");
  ExpectLeftToTheParser<UnscaleRequest>(Bytes(1, Bytes(1, "session")));
  ExpectLeftToTheParser<UnscaleResponse>(Bytes(1, Number(2, 7)));
  ExpectLeftToTheParser<UnscaleResponse>(Bytes(3, Number(3, 7)));
  // A chunk of another type is an unknown field.
  ExpectLeftToTheParser<UnscaleRequest>(Number(2, 7));
}

TEST(ChunkCodecTest, LeavesOtherOrdersToTheParser) {
  const std::string chunk = Chunk(TensorAndOffset() + Data());
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(Data() + TensorAndOffset()));
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(Number(1, 1) + Data() + Data()));
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(Data() + Number(14, 1)));
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(Data() + Number(16, 1)));
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(Bytes(15, "") + Data()));
  ExpectLeftToTheParser<UnscaleRequest>(chunk + chunk);
  ExpectLeftToTheParser<UnscaleRequest>(chunk + Chunk(""));
  ExpectLeftToTheParser<UnscaleRequest>(Bytes(1, "") + chunk);
  ExpectLeftToTheParser<UnscaleRequest>(chunk + Bytes(1, ""));
  ExpectLeftToTheParser<UnscaleRequest>(Number(14, 1) + chunk);
  ExpectLeftToTheParser<UnscaleRequest>(chunk + Number(14, 1));
}

TEST(ChunkCodecTest, LeavesGroupsToTheParser) {
  const std::string group = Tag(9, 3) + Number(1, 1) + Tag(9, 4);
  ExpectLeftToTheParser<UnscaleRequest>(
      Chunk(group + TensorAndOffset() + Data()));
  ExpectLeftToTheParser<UnscaleRequest>(group +
                                        Chunk(TensorAndOffset() + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(9, 3) + TensorAndOffset() + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(9, 4) + TensorAndOffset() + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(TensorAndOffset() + Tag(9, 4)));
}

TEST(ChunkCodecTest, NestsAsDeepAsTheParserDoes) {
  // Unknown groups of one byte each within a verdict.
  const auto nested = [](std::size_t depth) {
    std::string groups;
    for (std::size_t i = 0; i < depth; ++i) groups += Tag(9, 3);
    for (std::size_t i = 0; i < depth; ++i) groups += Tag(9, 4);
    return Chunk(Bytes(3, groups) + Data());
  };
  std::size_t taken = 0;
  for (std::size_t depth = 90; depth < 110; ++depth) {
    const std::string bytes = nested(depth);
    EXPECT_EQ(Take<UnscaleResponse>(bytes).has_value(),
              ParserAccepts<UnscaleResponse>(bytes))
        << depth;
    taken += ParserAccepts<UnscaleResponse>(bytes) ? 1 : 0;
  }
  // The limit is among them.
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, 20u);
}

TEST(ChunkCodecTest, LeavesOverlongNumbersToTheParser) {
  // A tag of the chunk, its length, a tag and the value of a field, the tag
  // and the length of `data`, each with a byte that it does not need.
  ExpectLeftToTheParser<UnscaleRequest>("\x92" + std::string("\0\0", 2));
  ExpectLeftToTheParser<UnscaleRequest>("\x12" + std::string("\x80\0", 2));
  ExpectLeftToTheParser<UnscaleRequest>(
      Chunk("\x88" + std::string("\0\1", 2) + Data()));
  ExpectLeftToTheParser<UnscaleRequest>(
      Chunk("\x08" + std::string("\x81\0", 2) + Data()));
  ExpectLeftToTheParser<UnscaleRequest>(
      Chunk("\xFA" + std::string("\0\1p", 3)));
  ExpectLeftToTheParser<UnscaleRequest>(
      Chunk("\x7A" + std::string("\x81\0p", 3)));
}

TEST(ChunkCodecTest, IsNotDeceivedByATagOfMoreThan32Bits) {
  // The generated parser drops the bits above, and sees `data`.
  const std::string data_and_more =
      Varint(std::uint64_t{1} << 32 | 15 << 3 | 2) + Varint(3) + "abc";
  EXPECT_EQ(Parsed<UnscaleRequest>(Chunk(data_and_more)).chunk().data(), "abc");
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(data_and_more));
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(data_and_more + Data()));
  ExpectLeftToTheParser<UnscaleRequest>(
      Varint(std::uint64_t{1} << 32 | 2 << 3 | 2) + Varint(0));
}

// 3, in ten bytes: the bits that count, and one beyond the 64th.
std::string ThreeAndMore() { return "\x83" + std::string(8, '\x80') + "\x02"; }

TEST(ChunkCodecTest, IsNotDeceivedByANumberOfMoreThan64Bits) {
  ExpectIllegal<UnscaleRequest>("\x12" + ThreeAndMore() + Number(2, 200));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(15, 2) + ThreeAndMore() + "abc"));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(8, 2) + ThreeAndMore() + "abc"));
  // Of a varint the parser drops them.
  ExpectLeftToTheParser<UnscaleRequest>(Chunk(Tag(2, 0) + ThreeAndMore()));
}

TEST(ChunkCodecTest, DoesNotTakeWhatIsNoMessage) {
  const std::string chunk = Chunk(TensorAndOffset() + Data());
  // Cut short, at every byte.
  for (std::size_t size = 1; size < chunk.size(); ++size) {
    ExpectIllegal<UnscaleRequest>(chunk.substr(0, size));
  }
  // The payload shorter and longer than said, with the chunk as it is said.
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(15, 2) + Varint(4) + "abc"));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(15, 2) + Varint(2) + "ab\x07"));
  // The chunk shorter and longer than what is in it.
  ExpectIllegal<UnscaleRequest>(Tag(2, 2) + Varint(6) + TensorAndOffset() +
                                Data());
  ExpectIllegal<UnscaleRequest>(Tag(2, 2) + Varint(90) + TensorAndOffset() +
                                Data());
  // No field has the number 0; wire types 6 and 7 do not exist.
  ExpectIllegal<UnscaleRequest>(Chunk(Number(0, 1) + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(Bytes(0, "") + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(std::string(1, '\0') + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(9, 6) + Data()));
  ExpectIllegal<UnscaleRequest>(Chunk(Tag(9, 7) + Data()));
  // A verdict that is none.
  ExpectIllegal<UnscaleResponse>(Chunk(Bytes(3, Tag(2, 0)) + Data()));
  ExpectIllegal<UnscaleResponse>(Chunk(Bytes(3, "\x07") + Data()));
  // A varint without end.
  ExpectIllegal<UnscaleRequest>(
      Chunk(Tag(2, 0) + std::string(10, '\xFF') + Data()));
}

TEST(ChunkCodecTest, DoesNotTakeLengthsThatParsersRefuse) {
  // A payload of 2 GiB and more, in pieces that lie one upon the other.
  const std::string megabyte(std::size_t{1} << 20, 'p');
  for (const std::size_t megabytes : {2048, 4096, 4097}) {
    const std::size_t payload = megabytes << 20;
    const std::string data = Tag(15, 2) + Varint(payload);
    const std::string head = Tag(2, 2) + Varint(data.size() + payload) + data;
    std::vector<std::string_view> pieces(megabytes, megabyte);
    pieces.insert(pieces.begin(), head);
    UnscaleRequest request;
    EXPECT_FALSE(ReadChunk(pieces, &request)) << megabytes;
  }
  for (const std::uint64_t length :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32,
        std::uint64_t{1} << 32 | 3, std::uint64_t{1} << 63,
        ~std::uint64_t{0}}) {
    ExpectIllegal<UnscaleRequest>(Tag(2, 2) + Varint(length) + "abc");
    ExpectIllegal<UnscaleRequest>(Chunk(Tag(15, 2) + Varint(length) + "abc"));
    ExpectIllegal<UnscaleRequest>(Chunk(Tag(8, 2) + Varint(length) + "abc"));
  }
}

TEST(ChunkCodecTest, TakesNoPiecesForNoChunk) {
  UnscaleRequest request;
  EXPECT_FALSE(ReadChunk({}, &request));
  const std::string_view null;
  EXPECT_FALSE(ReadChunk(Fragments(&null, 1), &request));
}

}  // namespace
}  // namespace lossscaler::wire
