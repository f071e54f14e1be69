// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A worker's stream, message by message, on a call that the test plays.

#include "lossscaler/client/internal/participate_stream.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpc/support/time.h"
#include "grpcpp/alarm.h"
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

// gRPC's half of a call, as on a network that has time: an operation is done
// when the test, or the call's end, says so.
class FakeCall : public Stub::ParticipateCall {
 public:
  // What outlives the call: gRPC destroys it with its stream.
  struct Peer {
    grpc::ClientContext* context = nullptr;
    grpc::CompletionQueue* queue = nullptr;
    std::vector<v1::ParticipateRequest> written;
    void* write_tag = nullptr;
    v1::ParticipateResponse* read = nullptr;
    void* read_tag = nullptr;
    grpc::Status* status = nullptr;
    int finishes = 0;
    bool destroyed = false;
    // What there is to read.
    std::deque<v1::ParticipateResponse> responses;
    std::optional<grpc::Status> end;
    std::deque<grpc::Alarm> done;

    void Tell(const v1::ParticipateResponse& response) {
      responses.push_back(response);
      Serve();
    }
    void End(const grpc::Status& with) {
      end = with;
      Serve();
    }
    void WriteDone() { Done(std::exchange(write_tag, nullptr), /*ok=*/true); }
    void Serve() {
      if (read_tag == nullptr) return;
      if (!responses.empty()) {
        *read = responses.front();
        responses.pop_front();
        Done(std::exchange(read_tag, nullptr), /*ok=*/true);
      } else if (end) {
        Done(std::exchange(read_tag, nullptr), /*ok=*/false);
      }
    }
    void Done(void* tag, bool ok) {
      done.emplace_back();
      done.back().Set(queue,
                      ok ? gpr_inf_past(GPR_CLOCK_MONOTONIC)
                         : gpr_inf_future(GPR_CLOCK_MONOTONIC),
                      tag);
      if (!ok) done.back().Cancel();
    }
  };

  explicit FakeCall(Peer* peer) : peer_(peer) {}
  ~FakeCall() override { peer_->destroyed = true; }

  void StartCall(void* tag) override {
    // Corked: the headers go out with the first message.
    EXPECT_EQ(tag, nullptr);
  }
  void ReadInitialMetadata(void*) override {}
  void Write(const v1::ParticipateRequest& request, void* tag) override {
    EXPECT_EQ(peer_->write_tag, nullptr) << "one write at a time";
    peer_->written.push_back(request);
    peer_->write_tag = tag;
  }
  void Write(const v1::ParticipateRequest& request, grpc::WriteOptions,
             void* tag) override {
    Write(request, tag);
  }
  void WritesDone(void*) override {}
  void Read(v1::ParticipateResponse* response, void* tag) override {
    EXPECT_EQ(peer_->read_tag, nullptr) << "one read at a time";
    peer_->read = response;
    peer_->read_tag = tag;
    peer_->Serve();
  }
  // As of a call that has ended, or was cancelled.
  void Finish(grpc::Status* status, void* tag) override {
    ++peer_->finishes;
    *status = peer_->end.value_or(grpc::Status::CANCELLED);
    if (peer_->write_tag != nullptr) {
      peer_->Done(std::exchange(peer_->write_tag, nullptr), /*ok=*/false);
    }
    peer_->Done(tag, /*ok=*/true);
  }

 private:
  Peer* const peer_;
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

constexpr absl::Duration kLong = absl::Hours(1);

class ParticipateStreamTest : public ::testing::Test {
 protected:
  ParticipateStreamTest() {
    EXPECT_CALL(*stub_, Participate)
        .WillOnce(
            [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
              call_.context = context;
              call_.queue = queue;
              return std::make_unique<FakeCall>(&call_);
            });
    v1::ParticipateOpen open;
    open.set_worker("w0");
    stream_ = StartParticipating(stub_, {}, std::move(open), heard_);
  }
  ~ParticipateStreamTest() override {
    if (!call_.end) call_.End(grpc::Status::CANCELLED);
    stream_.reset();
    EXPECT_EQ(call_.finishes, 1);
    EXPECT_TRUE(call_.destroyed);
  }

  // Takes what is done, and waits for nothing more.
  void Poll() {
    stream_->Interrupt();
    stream_->Poll(kLong);
  }
  void PollToTheEnd() {
    while (heard_->words.empty() || heard_->words.back() != "closed") {
      stream_->Poll(kLong);
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
  FakeCall::Peer call_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::shared_ptr<WorkerStream> stream_;
};

TEST_F(ParticipateStreamTest, WritesOneMessageAtATimeInOrder) {
  stream_->SendHeartbeat(1, std::nullopt);
  stream_->SendVote(2, 7, {.verdict = Verdict::kFinite});
  ASSERT_EQ(call_.written.size(), 1);
  EXPECT_EQ(call_.written[0].open().worker(), "w0");
  call_.WriteDone();
  Poll();
  ASSERT_EQ(call_.written.size(), 2);
  EXPECT_EQ(call_.written[1].heartbeat().sequence(), 1);
  EXPECT_FALSE(call_.written[1].heartbeat().has_checkpoint());
  call_.WriteDone();
  Poll();
  ASSERT_EQ(call_.written.size(), 3);
  EXPECT_EQ(call_.written[2].vote().step(), 7);
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
  response.Clear();
  *response.mutable_changed() = Open();
  call_.Tell(response);
  call_.End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "bye"));
  PollToTheEnd();
  EXPECT_THAT(heard_->answer, IsOk());
  EXPECT_THAT(heard_->words, ElementsAre("opened", "heartbeat 1", "vote 2",
                                         "changed", "closed"));
  EXPECT_THAT(heard_->end, HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(ParticipateStreamTest, NewsOfANewerServerAreNoError) {
  call_.Tell(Opened());
  call_.Tell(v1::ParticipateResponse());
  call_.Tell(Opened());
  call_.End(grpc::Status::OK);
  PollToTheEnd();
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
  PollToTheEnd();
  EXPECT_THAT(heard_->words, ElementsAre("closed"));
  EXPECT_THAT(heard_->end, IsError(Reason::kMalformedAnswer));
}

TEST_F(ParticipateStreamTest, AnEmptyAnswerToAVoteIsAnErrorOfThatVote) {
  v1::ParticipateResponse response;
  response.mutable_vote()->set_sequence(2);
  call_.Tell(response);
  stream_->Poll(kLong);
  EXPECT_FALSE(heard_->answer.ok());
  call_.Tell(Opened());
  stream_->Poll(kLong);
  EXPECT_THAT(heard_->words, ElementsAre("vote 2", "opened"));
}

TEST_F(ParticipateStreamTest, WhatIsSentAfterTheEndIsDropped) {
  call_.WriteDone();
  call_.End(grpc::Status::OK);
  PollToTheEnd();
  stream_->SendHeartbeat(1, std::nullopt);
  EXPECT_EQ(call_.written.size(), 1);
}

TEST_F(ParticipateStreamTest, ReadsOnlyWhilePolledOneMessageAtATime) {
  EXPECT_TRUE(stream_->needs_polling());
  call_.Tell(Opened());
  call_.Tell(Opened());
  EXPECT_EQ(call_.responses.size(), 2);
  stream_->Poll(kLong);
  EXPECT_THAT(heard_->words, ElementsAre("opened"));
  EXPECT_EQ(call_.responses.size(), 1);
}

TEST_F(ParticipateStreamTest, AnInterruptEndsThePollThatIsOrTheNextOne) {
  stream_->Interrupt();
  stream_->Interrupt();
  // Neither comes back from a read: nothing is ever told.
  stream_->Poll(kLong);
  std::thread poller([this] { stream_->Poll(kLong); });
  stream_->Interrupt();
  poller.join();
  EXPECT_THAT(heard_->words, ElementsAre());
}

TEST_F(ParticipateStreamTest, AStreamThatIsDroppedTellsNothing) {
  call_.Tell(Opened());
  stream_->Interrupt();
  stream_.reset();
  EXPECT_THAT(heard_->words, ElementsAre());
  EXPECT_TRUE(call_.destroyed);
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
