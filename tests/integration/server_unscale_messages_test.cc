// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Messages of the Unscale stream as gRPC hands them over: in slices that end
// anywhere.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/unscale.pb.h"
#include "rpc/unscale_messages.h"
#include "sessions/buffer_pool.h"
#include "sessions/byte_budget.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Eq;

// In slices of `size` bytes, the last of which may be smaller. Those of up to
// 23 bytes live in the slice's own object.
grpc::ByteBuffer Sliced(std::string_view bytes, std::size_t size) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    slices.emplace_back(std::string(bytes.substr(at, size)));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Whole(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::string DataOf(const ReceivedChunk& chunk) {
  std::string data;
  for (const std::string_view piece : chunk.payload->data()) data += piece;
  return data;
}

v1::UnscaleRequest ChunkMessage(const std::string& data) {
  v1::UnscaleRequest message;
  message.mutable_chunk()->set_tensor(3);
  message.mutable_chunk()->set_offset(1'000'000'007);
  message.mutable_chunk()->set_data(data);
  return message;
}

TEST(UnscaleMessages, AChunkIsReadHoweverItIsCut) {
  std::string data(200, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<char>(i * 7);
  }
  const std::string bytes = ChunkMessage(data).SerializeAsString();
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    grpc::ByteBuffer buffer = Sliced(bytes, size);
    const absl::StatusOr<ReceivedMessage> message = ReadMessage(&buffer);
    ASSERT_THAT(message, IsOk());
    const auto& chunk = std::get<ReceivedChunk>(*message);
    EXPECT_THAT(chunk.tensor, Eq(3));
    EXPECT_THAT(chunk.offset, Eq(1'000'000'007));
    EXPECT_THAT(DataOf(chunk), Eq(data)) << "slices of " << size;
    EXPECT_THAT(buffer.Length(), Eq(0u));
  }
}

TEST(UnscaleMessages, AChunkWithoutDataHasNone) {
  for (const std::size_t size : {1u, 100u}) {
    grpc::ByteBuffer buffer =
        Sliced(ChunkMessage("").SerializeAsString(), size);
    const absl::StatusOr<ReceivedMessage> message = ReadMessage(&buffer);
    ASSERT_THAT(message, IsOk());
    EXPECT_THAT(DataOf(std::get<ReceivedChunk>(*message)), Eq(""));
  }
}

TEST(UnscaleMessages, AnOpenIsReadAndNothingIsAnEmptyMessage) {
  v1::UnscaleRequest open;
  open.mutable_open()->set_stream_id("s");
  grpc::ByteBuffer buffer = Sliced(open.SerializeAsString(), 2);
  const absl::StatusOr<ReceivedMessage> message = ReadMessage(&buffer);
  ASSERT_THAT(message, IsOk());
  EXPECT_THAT(std::get<v1::UnscaleOpen>(*message).stream_id(), Eq("s"));

  grpc::ByteBuffer nothing = Sliced("", 1);
  EXPECT_THAT(ReadMessage(&nothing), IsError(Reason::kEmptyMessage));
  // A field of a newer version.
  grpc::ByteBuffer newer = Sliced("\xA0\x06\x01", 1);
  EXPECT_THAT(ReadMessage(&newer), IsError(Reason::kEmptyMessage));
}

// Every prefix of a message but the whole one, and bytes that mean nothing.
TEST(UnscaleMessages, WhatIsNoMessageIsAnErrorThatSaysSo) {
  const std::string bytes = ChunkMessage("12345678").SerializeAsString();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    grpc::ByteBuffer buffer = Sliced(bytes.substr(0, size), 3);
    const absl::Status status = ReadMessage(&buffer).status();
    EXPECT_THAT(status, IsError(Reason::kMalformedMessage)) << size;
    EXPECT_THAT(MetadataOf(status)["bytes"], Eq(std::to_string(size)));
  }
  for (const std::string& junk :
       {std::string("\xFF"), std::string(100, '\xFF'), std::string(9, '\0'),
        std::string("junk, and more of it")}) {
    grpc::ByteBuffer buffer = Sliced(junk, 5);
    EXPECT_THAT(ReadMessage(&buffer), IsError(Reason::kMalformedMessage));
  }
}

TEST(UnscaleMessages, AnAnswerIsTheOrdinaryMessageAndLendsItsBuffer) {
  const auto budget = std::make_shared<ByteBudget>(100);
  const auto pool = BufferPool::Create();
  const std::string data = "the unscaled values";
  v1::UnscaleResponse expected;
  expected.mutable_chunk()->set_tensor(2);
  expected.mutable_chunk()->set_offset(77);
  expected.mutable_chunk()->mutable_verdict()->set_overflow(true);
  expected.mutable_chunk()->mutable_verdict()->set_nan_count(1);
  for (const bool check_only : {false, true}) {
    ChunkPump::Unscaled answer{.tensor = 2, .offset = 77, .statistics = false};
    answer.answer.verdict.nan_count = 1;
    if (!check_only) {
      answer.answer.data =
          pool->Take(data.size(), data.size(), Reservation::Take(budget, 50));
      std::memcpy(answer.answer.data.data(), data.data(), data.size());
    }
    expected.mutable_chunk()->set_data(check_only ? "" : data);
    grpc::ByteBuffer message = WriteMessage(std::move(answer));
    EXPECT_THAT(Whole(message), Eq(expected.SerializeAsString()));
    // Until the last copy of the message has gone.
    EXPECT_THAT(budget->taken(), Eq(check_only ? 0 : 50));
    grpc::ByteBuffer copy = message;
    message.Clear();
    EXPECT_THAT(budget->taken(), Eq(check_only ? 0 : 50));
    copy.Clear();
    EXPECT_THAT(budget->taken(), Eq(0));
  }
}

}  // namespace
}  // namespace lossscaler::server
