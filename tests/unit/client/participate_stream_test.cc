// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A worker's stream, message by message, on a call that the test plays.

#include "lossscaler/client/internal/participate_stream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/internal/refused_stream.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/status.h"
#include "testing/mock_stub.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using lossscaler::testing::MockStub;
using ::testing::ElementsAre;

// gRPC's half of a call. Says nothing by itself.
class FakeCall
    : public grpc::ClientCallbackReaderWriter<v1::ParticipateRequest,
                                              v1::ParticipateResponse> {
 public:
  void Bind(Stub::ParticipateReactor* reactor) {
    reactor_ = reactor;
    BindReactor(reactor);
  }

  void StartCall() override {}
  void Write(const v1::ParticipateRequest* request,
             grpc::WriteOptions) override {
    written_.push_back(*request);
  }
  void WritesDone() override {}
  void Read(v1::ParticipateResponse* response) override { read_ = response; }
  void AddHold(int holds) override { holds_ += holds; }
  void RemoveHold() override { --holds_; }

  void WriteDone() { reactor_->OnWriteDone(true); }
  void Tell(const v1::ParticipateResponse& response) {
    *read_ = response;
    reactor_->OnReadDone(true);
  }
  void End(const grpc::Status& status) {
    reactor_->OnReadDone(false);
    EXPECT_EQ(holds_, 0);
    reactor_->OnDone(status);
  }

  const std::vector<v1::ParticipateRequest>& written() const {
    return written_;
  }

 private:
  Stub::ParticipateReactor* reactor_ = nullptr;
  v1::ParticipateResponse* read_ = nullptr;
  int holds_ = 0;
  std::vector<v1::ParticipateRequest> written_;
};

// What a worker hears, in words.
class Heard : public WorkerStreamEvents {
 public:
  void OnOpened(const Membership&) override { words.push_back("opened"); }
  void OnChanged(const Membership&) override { words.push_back("changed"); }
  void OnHeartbeat(std::int64_t sequence, const Membership&,
                   const absl::Status& refused) override {
    words.push_back("heartbeat " + std::to_string(sequence) +
                    (refused.ok() ? "" : " refused"));
  }
  void OnVote(std::int64_t sequence, absl::StatusOr<Decision> given,
              const std::optional<Current>&) override {
    words.push_back("vote " + std::to_string(sequence));
    answer = std::move(given);
  }
  void OnClosed(const absl::Status& status) override {
    words.push_back("closed");
    end = status;
  }

  std::vector<std::string> words;
  absl::StatusOr<Decision> answer = absl::UnknownError("");
  absl::Status end;
};

class ParticipateStreamTest : public ::testing::Test {
 protected:
  ParticipateStreamTest() {
    EXPECT_CALL(*stub_, Participate)
        .WillOnce(
            [this](grpc::ClientContext*, Stub::ParticipateReactor* reactor) {
              call_.Bind(reactor);
            });
    v1::ParticipateOpen open;
    open.set_worker("w0");
    stream_ = StartParticipating(stub_, {}, std::move(open), heard_);
  }
  ~ParticipateStreamTest() override {
    if (heard_->words.empty() || heard_->words.back() != "closed") {
      call_.End(grpc::Status::OK);
    }
  }

  static v1::Membership Open() {
    v1::Membership membership;
    membership.set_state(v1::WORKER_STATE_ACTIVE);
    membership.set_phase(v1::GROUP_PHASE_OPEN);
    return membership;
  }
  static v1::ParticipateResponse Opened() {
    v1::ParticipateResponse response;
    *response.mutable_opened() = Open();
    return response;
  }

  std::shared_ptr<MockStub> stub_ = std::make_shared<MockStub>();
  FakeCall call_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::shared_ptr<WorkerStream> stream_;
};

TEST_F(ParticipateStreamTest, WritesOneMessageAtATimeInOrder) {
  stream_->SendHeartbeat(1, std::nullopt);
  stream_->SendVote(2, 7, {.verdict = Verdict::kFinite});
  ASSERT_EQ(call_.written().size(), 1);
  EXPECT_EQ(call_.written()[0].open().worker(), "w0");
  call_.WriteDone();
  ASSERT_EQ(call_.written().size(), 2);
  EXPECT_EQ(call_.written()[1].heartbeat().sequence(), 1);
  EXPECT_FALSE(call_.written()[1].heartbeat().has_checkpoint());
  call_.WriteDone();
  ASSERT_EQ(call_.written().size(), 3);
  EXPECT_EQ(call_.written()[2].vote().step(), 7);
}

TEST_F(ParticipateStreamTest, TellsWhatComesInOrderAndItsEndOnce) {
  call_.Tell(Opened());
  v1::ParticipateResponse response;
  response.mutable_heartbeat()->set_sequence(1);
  *response.mutable_heartbeat()->mutable_membership() = Open();
  call_.Tell(response);
  response.Clear();
  response.mutable_vote()->set_sequence(2);
  wire::ToProto(Decision{.step = 7},
                response.mutable_vote()->mutable_decision());
  call_.Tell(response);
  EXPECT_THAT(heard_->answer, IsOk());
  response.Clear();
  *response.mutable_changed() = Open();
  call_.Tell(response);
  call_.End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "bye"));
  EXPECT_THAT(heard_->words, ElementsAre("opened", "heartbeat 1", "vote 2",
                                         "changed", "closed"));
  EXPECT_THAT(heard_->end, HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(ParticipateStreamTest, NewsOfANewerServerAreNoError) {
  call_.Tell(Opened());
  call_.Tell(v1::ParticipateResponse());
  call_.Tell(Opened());
  call_.End(grpc::Status::OK);
  EXPECT_THAT(heard_->words, ElementsAre("opened", "opened", "closed"));
  EXPECT_THAT(heard_->end, IsOk());
}

TEST_F(ParticipateStreamTest, AMessageThatCannotBeUsedEndsTheStream) {
  v1::ParticipateResponse response;
  response.mutable_opened()->set_phase(v1::GROUP_PHASE_OPEN);
  call_.Tell(response);
  // What comes between is not told.
  call_.Tell(Opened());
  call_.End(grpc::Status::CANCELLED);
  EXPECT_THAT(heard_->words, ElementsAre("closed"));
  EXPECT_THAT(heard_->end, IsError(Reason::kMalformedAnswer));
}

TEST_F(ParticipateStreamTest, AnEmptyAnswerToAVoteIsAnErrorOfThatVote) {
  v1::ParticipateResponse response;
  response.mutable_vote()->set_sequence(2);
  call_.Tell(response);
  EXPECT_FALSE(heard_->answer.ok());
  call_.Tell(Opened());
  EXPECT_THAT(heard_->words, ElementsAre("vote 2", "opened"));
}

TEST_F(ParticipateStreamTest, WhatIsSentAfterTheEndIsDropped) {
  call_.WriteDone();
  call_.End(grpc::Status::OK);
  stream_->SendHeartbeat(1, std::nullopt);
  EXPECT_EQ(call_.written().size(), 1);
}

TEST(RefusedStreamTest, EndsAtOnceAndTakesEverything) {
  const auto heard = std::make_shared<Heard>();
  const std::shared_ptr<WorkerStream> stream =
      RefuseToParticipate(absl::UnimplementedError("no"), heard);
  stream->SendHeartbeat(1, std::nullopt);
  stream->SendVote(2, 1, {});
  stream->Cancel();
  EXPECT_THAT(heard->words, ElementsAre("closed"));
  EXPECT_THAT(heard->end, HasCode(absl::StatusCode::kUnimplemented));
}

TEST(RefusedStreamTest, BadCredentialsSendNothing) {
  const auto stub = std::make_shared<::testing::StrictMock<MockStub>>();
  const auto heard = std::make_shared<Heard>();
  ClientOptions options;
  options.token = "two\r\nlines";
  StartParticipating(stub, options, {}, heard)->SendHeartbeat(1, std::nullopt);
  EXPECT_THAT(heard->words, ElementsAre("closed"));
  EXPECT_THAT(heard->end, IsError(Reason::kInvalidCredentials));
}

}  // namespace
}  // namespace lossscaler::internal
