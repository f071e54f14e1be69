// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The Unscale stream as bytes: every legal encoding of a message gives the same
// answer, what is none ends the stream with a reason, and after every ending
// the memory that the stream reserved is free for the next.

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/in_process_server.h"
#include "testing/raw_unscale_call.h"
#include "testing/status_matchers.h"
#include "testing/unscale_dialog.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::Await;
using ::lossscaler::testing::BytesOf;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::RawUnscaleCall;
using ::lossscaler::testing::UnscaleDialog;
using ::lossscaler::testing::ValuesOf;
using ::testing::ElementsAre;
using ::testing::Eq;

constexpr std::int64_t kMiB = 1 << 20;

class UnscaleBytes : public ::testing::Test {
 protected:
  explicit UnscaleBytes(const server::Limits& limits = {})
      : server_(limits),
        channel_(grpc::CreateChannel(server_.address(),
                                     grpc::InsecureChannelCredentials())),
        stub_(v1::LossScalerService::NewStub(channel_)) {
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.mutable_scaler()->mutable_dynamic()->set_scale(4);
    v1::CreateSessionResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->CreateSession(&context, request, &response).ok());
  }
  ~UnscaleBytes() override {
    EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  }

  std::string NextId() { return absl::StrCat("s", ++streams_); }

  // An open of a stream of `elements` in chunks of at most 1 MiB.
  std::string OpenMessage(std::int64_t elements) {
    v1::UnscaleRequest request;
    *request.mutable_open() = UnscaleDialog::OpenFor(NextId(), elements);
    request.mutable_open()->set_max_chunk_bytes(kMiB);
    return request.SerializeAsString();
  }

  InProcessServer server_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::LossScalerService::Stub> stub_;
  int streams_ = 0;
};

v1::UnscaleResponse Parsed(const std::string& bytes) {
  v1::UnscaleResponse response;
  EXPECT_TRUE(response.ParseFromString(bytes));
  return response;
}

// ---- Encodings ----------------------------------------------------------

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>((value & 0x7F) | 0x80);
  }
  return bytes + static_cast<char>(value);
}
std::string Number(int field, std::uint64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(value);
}
std::string Bytes(int field, const std::string& bytes) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) +
         Varint(bytes.size()) + bytes;
}

// Fields of lossscaler/v1/unscale.proto.
constexpr int kOpen = 1;
constexpr int kChunk = 2;
constexpr int kTensor = 1;
constexpr int kOffset = 2;
constexpr int kData = 15;

struct Encoding {
  std::string name;
  // Of a chunk of tensor 0.
  std::function<std::string(std::int64_t offset, const std::string& data)>
      message;
  // How it is cut into slices; 0: not at all.
  std::size_t slice = 0;
};

std::vector<Encoding> Encodings() {
  const auto usual = [](std::int64_t offset, const std::string& data) {
    return Bytes(kChunk, Number(kOffset, offset) + Bytes(kData, data));
  };
  return {
      {"Usual", usual},
      {"InSlicesOfOneByte", usual, 1},
      {"InSlicesOfSevenBytes", usual, 7},
      {"InSlicesOfFortyBytes", usual, 40},
      {"ZeroesWritten",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kChunk, Number(kTensor, 0) + Number(kOffset, offset) +
                                  Bytes(kData, data));
       }},
      {"DataFirst",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kChunk, Bytes(kData, data) + Number(kOffset, offset));
       },
       1},
      {"DataTwice",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kChunk, Bytes(kData, "not these") +
                                  Number(kOffset, offset) + Bytes(kData, data));
       }},
      {"OffsetTwice",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kChunk, Number(kOffset, 99) + Number(kOffset, offset) +
                                  Bytes(kData, data));
       }},
      {"UnknownFieldsEverywhere",
       [](std::int64_t offset, const std::string& data) {
         return Number(100, 1) +
                Bytes(kChunk, Number(3, 7) + Number(kOffset, offset) +
                                  Bytes(14, "new") + Bytes(kData, data) +
                                  Bytes(16, "newer")) +
                Bytes(101, std::string(5000, 'n'));
       },
       3},
      {"AHeadThatIsLong",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kChunk, Bytes(14, std::string(3000, 'n')) +
                                  Number(kOffset, offset) + Bytes(kData, data));
       }},
      // Parts of a field that is there twice are put together.
      {"ChunkTwice",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kChunk, Bytes(kData, data)) +
                Bytes(kChunk, Number(kOffset, offset));
       },
       2},
      {"AnOpenThatTheChunkReplaces",
       [](std::int64_t offset, const std::string& data) {
         return Bytes(kOpen, Bytes(1, "session")) +
                Bytes(kChunk, Number(kOffset, offset) + Bytes(kData, data));
       }},
      {"LengthsLongerThanTheyNeedBe",
       [](std::int64_t offset, const std::string& data) {
         const std::string body = Number(kOffset, offset) +
                                  Varint(kData << 3 | 2) +
                                  static_cast<char>(data.size() | 0x80) +
                                  std::string(1, '\0') + data;
         return Varint(kChunk << 3 | 2) +
                static_cast<char>(body.size() | 0x80) +
                std::string("\x80\0", 2) + body;
       }},
  };
}

class UnscaleEncoding : public UnscaleBytes,
                        public ::testing::WithParamInterface<Encoding> {};

INSTANTIATE_TEST_SUITE_P(Legal, UnscaleEncoding,
                         ::testing::ValuesIn(Encodings()),
                         [](const auto& test) { return test.param.name; });

TEST_P(UnscaleEncoding, GivesTheOrdinaryAnswers) {
  RawUnscaleCall call(channel_);
  call.Write(OpenMessage(8));
  EXPECT_TRUE(Parsed(call.Read()).has_opened());
  // The second is like the first, so that nothing of that is left over.
  for (const std::int64_t offset : {0, 4}) {
    const float first = static_cast<float>(offset) + 4;
    const std::string message =
        GetParam().message(offset, BytesOf<float>({first, -8, 12, 0}));
    if (GetParam().slice == 0) {
      call.Write(message);
    } else {
      std::vector<grpc::Slice> slices;
      for (std::size_t at = 0; at < message.size(); at += GetParam().slice) {
        slices.emplace_back(message.substr(at, GetParam().slice));
      }
      call.Write(slices);
    }
    v1::UnscaleResponse expected;
    v1::UnscaledChunk* const chunk = expected.mutable_chunk();
    chunk->set_offset(offset);
    chunk->set_data(BytesOf<float>({first / 4, -2, 3, 0}));
    chunk->mutable_verdict()->set_absolute_maximum(3);
    chunk->mutable_verdict()->set_sum_of_squares(first * first / 16 + 13);
    // As bytes: that is what generated code makes of it.
    EXPECT_THAT(call.Read(), Eq(expected.SerializeAsString()));
  }
  call.HalfClose();
  const v1::UnscaleResponse summary = Parsed(call.Read());
  EXPECT_THAT(summary.summary().element_count(), Eq(8));
  // 1 + 13 and 4 + 13.
  EXPECT_THAT(summary.summary().verdict().sum_of_squares(), Eq(31));
  EXPECT_THAT(call.Finish(), IsOk());
}

TEST_F(UnscaleBytes, WhatIsNoMessageEndsTheStreamAfterTheAnswersBeforeIt) {
  RawUnscaleCall call(channel_);
  call.Write(OpenMessage(8));
  call.Write(Bytes(kChunk, Bytes(kData, BytesOf<float>({4}))));
  call.Write(std::string(30, '\xFF'));
  EXPECT_TRUE(Parsed(call.Read()).has_opened());
  EXPECT_THAT(ValuesOf<float>(Parsed(call.Read()).chunk().data()),
              ElementsAre(1));
  const absl::Status status = call.Finish();
  EXPECT_THAT(status, IsError(Reason::kMalformedMessage));
  EXPECT_THAT(MetadataOf(status)["bytes"], Eq("30"));
}

TEST_F(UnscaleBytes, JunkInsteadOfAnOpenEndsTheStream) {
  RawUnscaleCall call(channel_);
  call.Write("junk, and more of it");
  EXPECT_THAT(call.Finish(), IsError(Reason::kMalformedMessage));
}

// Random damage to messages that were good: the server says what is wrong, or
// takes it for what it now says, and lives.
TEST_F(UnscaleBytes, DamagedMessagesEndTheirStreamOnly) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 200; ++round) {
    RawUnscaleCall call(channel_);
    std::string open = OpenMessage(4);
    std::string chunk =
        Bytes(kChunk, Bytes(kData, BytesOf<float>({4, 4, 4, 4})));
    std::string& damaged = round % 2 == 0 ? open : chunk;
    for (int i = 0; i < 2; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    call.Write(open);
    call.Write(chunk);
    call.HalfClose();
    const absl::Status status = call.Finish();
    EXPECT_TRUE(status.ok() || ReasonOf(status).has_value()) << status;
  }
  UnscaleDialog sound(stub_.get());
  sound.Open(UnscaleDialog::OpenFor(NextId(), 1));
  EXPECT_THAT(sound.Read().opened().scale(), Eq(4));
  sound.Chunk(0, 0, BytesOf<float>({4}));
  sound.HalfClose();
  EXPECT_THAT(sound.Finish(), IsOk());
}

// ---- Memory -------------------------------------------------------------

// What is reserved for one stream of 1 MiB chunks: one of them and one answer,
// and no more is to be had.
class UnscaleMemory : public UnscaleBytes {
 protected:
  static server::Limits OneStream() {
    server::Limits limits;
    limits.max_bytes_in_flight = 5 * kMiB / 2;
    return limits;
  }
  UnscaleMemory() : UnscaleBytes(OneStream()) {}

  std::string FullChunk(std::int64_t index) {
    return Bytes(kChunk, Number(kOffset, index * (kMiB / 4)) +
                             Bytes(kData, std::string(kMiB, '\0')));
  }
  bool Opens(RawUnscaleCall* call, std::int64_t elements) {
    call->Write(OpenMessage(elements));
    return Parsed(call->Read()).has_opened();
  }
  // The next stream opens, now or as soon as gRPC has let go of the buffers of
  // the last one.
  void ExpectFree() {
    EXPECT_TRUE(Await([&] {
      RawUnscaleCall call(channel_);
      if (Opens(&call, 1)) return true;
      EXPECT_THAT(call.Finish(), IsError(Reason::kTooManyBytes));
      return false;
    }));
  }
};

TEST_F(UnscaleMemory, AnOpenStreamHoldsItsMemoryAndTheNextIsToldToWait) {
  RawUnscaleCall first(channel_);
  ASSERT_TRUE(Opens(&first, 1));
  RawUnscaleCall second(channel_);
  second.Write(OpenMessage(1));
  const absl::Status status = second.Finish();
  EXPECT_THAT(status, IsError(Reason::kTooManyBytes));
  EXPECT_TRUE(RetryDelayOf(status).has_value());
}

TEST_F(UnscaleMemory, IsFreeAfterEveryEnding) {
  using Call = RawUnscaleCall;
  const std::int64_t quarter = kMiB / 4;
  const std::string one = Bytes(kChunk, Bytes(kData, BytesOf<float>({4})));
  const std::vector<std::function<void(Call*)>> endings = {
      // Before the open.
      [](Call*) {},
      [](Call* call) { call->HalfClose(); },
      [](Call* call) { call->Write("junk"); },
      // While it opens.
      [&](Call* call) {
        call->Write(OpenMessage(1));
        call->Cancel();
      },
      // Open, and nothing sent.
      [&](Call* call) { Opens(call, 1); },
      [&](Call* call) {
        Opens(call, 1);
        call->HalfClose();
      },
      [&](Call* call) {
        Opens(call, 1);
        call->Write(OpenMessage(1));
      },
      [&](Call* call) {
        Opens(call, 1);
        call->Write(std::string(100, '\xFF'));
      },
      // While a chunk is read, computed or written: whatever the cancel meets.
      [&](Call* call) {
        Opens(call, 2 * quarter);
        call->Write(FullChunk(0));
        call->Cancel();
      },
      // Answers that nobody reads are on their way.
      [&](Call* call) {
        Opens(call, 4 * quarter);
        call->Write(FullChunk(0));
        call->Write(FullChunk(1));
        call->Cancel();
      },
      // An answer was read.
      [&](Call* call) {
        Opens(call, 4 * quarter);
        call->Write(FullChunk(0));
        EXPECT_TRUE(Parsed(call->Read()).has_chunk());
        call->Cancel();
      },
      // A wrong chunk behind a good one.
      [&](Call* call) {
        Opens(call, 4 * quarter);
        call->Write(FullChunk(0));
        call->Write(FullChunk(3));
        EXPECT_TRUE(Parsed(call->Read()).has_chunk());
        EXPECT_THAT(call->Finish(), IsError(Reason::kChunkOutOfOrder));
      },
      // The summary is not read.
      [&](Call* call) {
        Opens(call, 1);
        call->Write(one);
        call->HalfClose();
      },
      [&](Call* call) {
        Opens(call, 1);
        call->Write(one);
        call->HalfClose();
        call->Cancel();
      },
      [&](Call* call) {
        Opens(call, 1);
        call->Write(one);
        call->HalfClose();
        EXPECT_TRUE(Parsed(call->Read()).has_chunk());
        EXPECT_TRUE(Parsed(call->Read()).has_summary());
        call->Cancel();
      },
      // As it should be.
      [&](Call* call) {
        Opens(call, 1);
        call->Write(one);
        call->HalfClose();
        EXPECT_THAT(call->Finish(), IsOk());
      },
  };
  for (std::size_t i = 0; i < endings.size(); ++i) {
    SCOPED_TRACE(i);
    for (int round = 0; round < 5; ++round) {
      {
        Call call(channel_);
        endings[i](&call);
      }
      EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
      ExpectFree();
      EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
    }
  }
}

// It is refused, with its own reason, although it is no larger than a message
// may be.
TEST_F(UnscaleMemory, AChunkLargerThanWasReservedIsNotKept) {
  RawUnscaleCall call(channel_);
  ASSERT_TRUE(Opens(&call, kMiB));
  call.Write(Bytes(kChunk, Bytes(kData, std::string(3 * kMiB, '\0'))));
  EXPECT_THAT(call.Finish(), IsError(Reason::kChunkTooLarge));
  ExpectFree();
}

TEST_F(UnscaleMemory, AMessageLargerThanAllowedIsRefusedByTheTransport) {
  RawUnscaleCall call(channel_);
  ASSERT_TRUE(Opens(&call, 2 * kMiB));
  call.Write(Bytes(kChunk, Bytes(kData, std::string(4 * kMiB, '\0'))));
  const absl::Status status = call.Finish();
  EXPECT_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(ReasonOf(status).has_value());
  ExpectFree();
}

}  // namespace
}  // namespace lossscaler
