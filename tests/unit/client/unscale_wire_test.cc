// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the Unscale stream of a client makes of bytes that no generated server
// writes.

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "lossscaler/client/internal/connection_impl.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::FakeClock;
using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using ::testing::ElementsAre;

// A message in the slices that gRPC is to send.
using Pieces = std::vector<std::string>;

// Answers each message with the next of `answers`, then ends the stream.
class Replay
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Replay(const std::vector<Pieces>& answers)
      : answers_(answers.begin(), answers.end()) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (answers_.empty() || (!ok && answers_.size() > 1)) {
      Finish(grpc::Status::OK);
      return;
    }
    std::vector<grpc::Slice> slices;
    for (const std::string& piece : answers_.front())
      slices.emplace_back(piece);
    answers_.pop_front();
    response_ = grpc::ByteBuffer(slices.data(), slices.size());
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok || answers_.empty()) {
      Finish(grpc::Status::OK);
      return;
    }
    request_.Clear();
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  std::deque<Pieces> answers_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
};

class ReplayService
    : public v1::LossScalerService::WithRawCallbackMethod_Unscale<
          v1::LossScalerService::Service> {
 public:
  explicit ReplayService(std::vector<Pieces> answers)
      : answers_(std::move(answers)) {}

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Unscale(
      grpc::CallbackServerContext*) override {
    return new Replay(answers_);
  }

  const std::vector<Pieces> answers_;
};

std::string Field(int number, std::string_view bytes) {
  return std::string({static_cast<char>(number << 3 | 2),
                      static_cast<char>(bytes.size())}) +
         std::string(bytes);
}

std::string Varint(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

// {24, 36} / 12.
constexpr float kAnswer[] = {2, 3};
std::string Data() {
  return {reinterpret_cast<const char*>(kAnswer), sizeof kAnswer};
}

// The verdict of finite values without statistics is all defaults.
std::string Verdict() { return Field(3, ""); }

class UnscaleWireTest : public ::testing::Test {
 protected:
  // One call of two floats whose chunk is answered by `chunk`.
  absl::StatusOr<UnscaleAnswer> Unscale(const Pieces& chunk) {
    v1::UnscaleResponse opened;
    opened.mutable_opened()->set_scale(12);
    opened.mutable_opened()->set_step(1);
    opened.mutable_opened()->set_max_chunk_bytes(1 << 20);
    v1::UnscaleResponse summary;
    summary.mutable_summary()->mutable_verdict();
    summary.mutable_summary()->set_element_count(2);
    ReplayService service(
        {{opened.SerializeAsString()}, chunk, {summary.SerializeAsString()}});
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    ClientOptions options;
    options.clock = std::make_shared<FakeClock>();
    ConnectionImpl connection(MakeStub(server->InProcessChannel({})), options);
    values_ = {24, 36};
    const std::vector<GradientTensor> tensors = {
        InPlace("t", std::span(values_))};
    absl::StatusOr<UnscaleAnswer> answer =
        connection.Unscale({.session = {.name = "team/run", .uid = ""},
                            .step = 1,
                            .tensors = tensors,
                            .skip_statistics = true});
    server->Shutdown();
    return answer;
  }

  std::vector<float> values_;
};

TEST_F(UnscaleWireTest, UnderstandsEveryLegalEncoding) {
  const std::string data = Data();
  const std::vector<std::string> encodings = {
      Field(2, Verdict() + Field(15, data)),
      // The payload first.
      Field(2, Field(15, data) + Verdict()),
      // Fields of a newer server, before and after the payload.
      Field(2, Verdict() + Varint(9, 5) + Field(15, data)),
      Field(2, Verdict() + Field(15, data) + Varint(9, 5)),
      Varint(9, 5) + Field(2, Verdict() + Field(15, data)),
      // The last of two payloads counts.
      Field(2, Verdict() + Field(15, "else") + Field(15, data)),
      // Two parts of one chunk are merged.
      Field(2, Verdict()) + Field(2, Field(15, data)),
      // The last of two kinds of answer counts.
      Field(1, "") + Field(2, Verdict() + Field(15, data)),
  };
  for (const std::string& encoding : encodings) {
    EXPECT_THAT(Unscale({encoding}), IsOk());
    EXPECT_THAT(values_, ElementsAre(2, 3));
  }
}

TEST_F(UnscaleWireTest, UnderstandsAMessageInAnyPieces) {
  const std::string whole = Field(2, Verdict() + Field(15, Data()));
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    EXPECT_THAT(Unscale({whole.substr(0, cut), whole.substr(cut)}), IsOk());
    EXPECT_THAT(values_, ElementsAre(2, 3)) << cut;
  }
  Pieces bytes;
  for (const char byte : whole) bytes.emplace_back(1, byte);
  EXPECT_THAT(Unscale(bytes), IsOk());
  EXPECT_THAT(values_, ElementsAre(2, 3));
}

TEST_F(UnscaleWireTest, RefusesWhatIsNoMessage) {
  const std::string whole = Field(2, Verdict() + Field(15, Data()));
  std::vector<std::string> broken = {
      "\xff",
      "no message at all",
      std::string(20, '\xff'),
      // A group that does not end.
      Field(2, Verdict() + "\x4b"),
      // A length that reaches out of the chunk.
      Field(2, Verdict() + "\x7a\x09" + Data()),
  };
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    broken.push_back(whole.substr(0, cut));
  }
  for (const std::string& bytes : broken) {
    EXPECT_THAT(Unscale({bytes}), IsError(Reason::kMalformedAnswer));
    EXPECT_THAT(values_, ElementsAre(24, 36));
  }
}

TEST_F(UnscaleWireTest, RefusesAMessageOfNothing) {
  EXPECT_THAT(Unscale({""}), IsError(Reason::kMalformedAnswer));
}

TEST_F(UnscaleWireTest, RefusesAPayloadOfAnotherSize) {
  for (const std::size_t bytes : {0, 1, 7, 9, 16}) {
    EXPECT_THAT(
        Unscale({Field(2, Verdict() + Field(15, std::string(bytes, 'x')))}),
        IsError(Reason::kMalformedAnswer));
    EXPECT_THAT(values_, ElementsAre(24, 36));
  }
}

}  // namespace
}  // namespace lossscaler::internal
