// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What only group sessions, their journal and their watchers need.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/internal/connection_impl.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/status.h"
#include "testing/fake_clock.h"
#include "testing/mock_stub.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::FakeClock;
using lossscaler::testing::HasCode;
using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::MockStub;
using ::testing::ElementsAre;

const SessionRef kSession{.name = "team/run", .uid = "uid-1"};
const WorkerRef kWorker{.worker = "w0", .incarnation = 3};

class ConnectionGroupTest : public ::testing::Test {
 protected:
  ConnectionGroupTest() {
    options_.clock = clock_;
    options_.unavailable_budget = absl::Seconds(30);
  }

  std::shared_ptr<Connection> Connect() {
    return std::make_shared<ConnectionImpl>(stub_, options_);
  }
  static absl::Status Lost() { return absl::UnavailableError("lost"); }

  static v1::JoinSessionResponse AJoin() {
    v1::JoinSessionResponse response;
    response.set_incarnation(3);
    response.set_resume_token("token");
    response.mutable_lease_ttl()->set_seconds(30);
    response.mutable_membership()->set_state(v1::WORKER_STATE_ACTIVE);
    response.mutable_membership()->set_phase(v1::GROUP_PHASE_OPEN);
    response.set_session_uid("uid-1");
    return response;
  }
  void AnswerJoinWith(const v1::JoinSessionResponse& answer) {
    EXPECT_CALL(*stub_, JoinSession)
        .WillOnce([answer](auto*, const auto&, auto* response) {
          *response = answer;
          return absl::OkStatus();
        });
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<MockStub> stub_ =
      std::make_shared<::testing::StrictMock<MockStub>>();
  ClientOptions options_;
};

TEST_F(ConnectionGroupTest, NothingThatIsWrongAnywayIsSent) {
  const auto connection = Connect();
  const auto invalid = IsError(Reason::kInvalidField);
  EXPECT_THAT(connection->JoinSession(kSession, {.worker = ""}), invalid);
  EXPECT_THAT(connection->JoinSession(kSession, {.worker = "a b"}), invalid);
  EXPECT_THAT(
      connection->JoinSession(kSession, {.worker = "w0", .request_id = "\xff"}),
      invalid);
  EXPECT_THAT(connection->JoinSession(kSession,
                                      {.worker = "w0", .resume_token = "\xff"}),
              invalid);
  const LossScaler scaler = *LossScaler::Dynamic(1024, 2, 100);
  EXPECT_THAT(connection->JoinSession(
                  kSession, {.worker = "w0",
                             .checkpoint = Checkpoint{.scaler = scaler,
                                                      .base = {"a b", 1}}}),
              invalid);
  EXPECT_THAT(connection->LeaveSession(kSession, {.worker = "w0"}), invalid);
  EXPECT_THAT(connection->LeaveSession(kSession, {.incarnation = 1}), invalid);
  EXPECT_THAT(connection->ListDecisions(kSession, {.page_token = "\xff"}),
              invalid);
  EXPECT_THAT(connection->JoinSession({.name = "//"}, {.worker = "w0"}),
              IsError(Reason::kInvalidSessionName));
  EXPECT_THAT(
      connection->CreateGroup(
          "run", scaler, {.min_workers = 2, .max_workers = 1}, IfExists::kFail),
      IsError(Reason::kInvalidGroup));
}

TEST_F(ConnectionGroupTest, AJoinIsOneJoinOverAllItsAttempts) {
  std::vector<std::string> ids;
  EXPECT_CALL(*stub_, JoinSession)
      .Times(4)
      .WillRepeatedly([&](auto*, const auto& request, auto* response) {
        ids.push_back(request.request_id());
        *response = AJoin();
        return ids.size() % 2 == 1 ? Lost() : absl::OkStatus();
      });
  const auto connection = Connect();
  const absl::StatusOr<JoinAnswer> joined =
      connection->JoinSession(kSession, {.worker = "w0"});
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(joined->incarnation, 3);
  EXPECT_EQ(joined->resume_token, "token");
  EXPECT_EQ(joined->lease_ttl, absl::Seconds(30));
  EXPECT_EQ(joined->membership.state, MemberState::kActive);
  EXPECT_THAT(
      connection->JoinSession(kSession, {.worker = "w0", .request_id = "mine"}),
      IsOk());
  EXPECT_FALSE(ids[0].empty());
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[2], "mine");
  EXPECT_EQ(ids[3], "mine");
}

TEST_F(ConnectionGroupTest, AJoinThatCannotBeUsedIsMalformed) {
  std::vector<v1::JoinSessionResponse> answers(5, AJoin());
  answers[0].set_incarnation(0);
  answers[1].mutable_lease_ttl()->set_seconds(4);
  answers[2].mutable_lease_ttl()->set_seconds(3601);
  answers[3].clear_membership();
  answers[4].mutable_last_decision();
  for (const v1::JoinSessionResponse& answer : answers) {
    AnswerJoinWith(answer);
    EXPECT_THAT(Connect()->JoinSession(kSession, {.worker = "w0"}),
                IsError(Reason::kMalformedAnswer))
        << answer.DebugString();
  }
}

absl::Status Held() {
  return MakeRetryableError(Reason::kWorkerHeld, "w0 is held",
                            absl::Seconds(20), {{"worker", "w0"}});
}

TEST_F(ConnectionGroupTest, AHeldNameIsWaitedForOnlyByWhoHasNotHadIt) {
  const absl::Time start = clock_->Now();
  EXPECT_CALL(*stub_, JoinSession)
      .WillOnce(::testing::Return(Held()))
      .WillOnce([](auto*, const auto&, auto* response) {
        *response = AJoin();
        return absl::OkStatus();
      });
  EXPECT_THAT(Connect()->JoinSession(kSession, {.worker = "w0"}), IsOk());
  const absl::Time waited_until = clock_->Now();
  EXPECT_GE(waited_until - start, absl::Seconds(20));

  EXPECT_CALL(*stub_, JoinSession).WillOnce(::testing::Return(Held()));
  const absl::Status held =
      Connect()->RejoinSession(kSession, {.worker = "w0"}).status();
  EXPECT_THAT(held, IsError(Reason::kWorkerHeld));
  EXPECT_EQ(RetryDelayOf(held), std::nullopt);
  EXPECT_EQ(MetadataOf(held).at("worker"), "w0");
  EXPECT_EQ(clock_->Now(), waited_until);
}

TEST_F(ConnectionGroupTest, ARejoinWaitsForTheServerAllTheSame) {
  EXPECT_CALL(*stub_, JoinSession)
      .WillOnce(::testing::Return(Lost()))
      .WillOnce([](auto*, const auto&, auto* response) {
        *response = AJoin();
        return absl::OkStatus();
      });
  EXPECT_THAT(Connect()->RejoinSession(kSession, {.worker = "w0"}), IsOk());
}

TEST_F(ConnectionGroupTest, WhoIsNoMemberAnyMoreHasLeft) {
  EXPECT_CALL(*stub_, LeaveSession)
      .WillOnce(::testing::Return(Lost()))
      .WillOnce([](auto*, const auto& request, auto*) {
        EXPECT_EQ(request.worker(), "w0");
        EXPECT_EQ(request.incarnation(), 3);
        return MakeError(Reason::kFenced, "gone");
      });
  EXPECT_THAT(Connect()->LeaveSession(kSession, kWorker), IsOk());
}

TEST_F(ConnectionGroupTest, LeavingMayBeBounded) {
  EXPECT_CALL(*stub_, LeaveSession).WillRepeatedly(::testing::Return(Lost()));
  const absl::Time start = clock_->Now();
  EXPECT_THAT(
      Connect()->LeaveSessionWithin(kSession, kWorker, absl::Seconds(5)),
      IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_LE(clock_->Now() - start, absl::Seconds(5));
  // Never longer than the connection's own budget.
  options_.unavailable_budget = absl::Seconds(1);
  EXPECT_THAT(Connect()->LeaveSessionWithin(kSession, kWorker,
                                            absl::InfiniteDuration()),
              IsErrorSaying(Reason::kUnavailableBudgetSpent, "(1s)"));
}

TEST_F(ConnectionGroupTest, APageSaysWhatItIsAskedFor) {
  v1::ListDecisionsRequest sent;
  EXPECT_CALL(*stub_, ListDecisions)
      .Times(2)
      .WillRepeatedly([&](auto*, const auto& request, auto* response) {
        sent = request;
        response->set_next_page_token("next");
        return absl::OkStatus();
      });
  const absl::StatusOr<DecisionPage> page = Connect()->ListDecisions(
      kSession, {.page_size = 7, .page_token = "here", .iteration = 0});
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->next_page_token, "next");
  EXPECT_EQ(sent.session_uid(), "uid-1");
  EXPECT_EQ(sent.page_size(), 7);
  EXPECT_EQ(sent.page_token(), "here");
  EXPECT_FALSE(sent.has_step());
  EXPECT_TRUE(sent.has_iteration());
  EXPECT_THAT(Connect()->ListDecisions(kSession, {.step = 3}), IsOk());
  EXPECT_EQ(sent.step(), 3);
  EXPECT_FALSE(sent.has_iteration());
}

TEST_F(ConnectionGroupTest, WithCredentialsThatCannotBeUsedNothingIsSent) {
  options_.token = "two\r\nlines";
  const auto refused = IsError(Reason::kInvalidCredentials);
  const auto connection = Connect();
  EXPECT_THAT(connection->JoinSession(kSession, {.worker = "w0"}), refused);
  EXPECT_THAT(connection->LeaveSession(kSession, kWorker), refused);
  EXPECT_THAT(connection->ListDecisions(kSession, {}), refused);
  EXPECT_THAT(connection->WatchSession(kSession, {.from_step = 1},
                                       [](const Decision&) { return true; }),
              refused);
}

// A stream of decisions, as a server sends it.
class FakeReader : public Stub::DecisionReader {
 public:
  FakeReader(std::deque<std::int64_t> steps, const absl::Status& end,
             std::function<void()> before_end)
      : steps_(std::move(steps)),
        end_(end),
        before_end_(std::move(before_end)) {}

  bool Read(v1::WatchSessionResponse* response) override {
    if (steps_.empty()) {
      if (before_end_) std::exchange(before_end_, nullptr)();
      return false;
    }
    Decision decision;
    decision.step = steps_.front();
    steps_.pop_front();
    wire::ToProto(decision, response->mutable_decision());
    return true;
  }
  grpc::Status Finish() override {
    return grpc::Status(static_cast<grpc::StatusCode>(end_.code()),
                        std::string(end_.message()),
                        wire::SerializeErrorDetails(end_));
  }
  bool NextMessageSize(std::uint32_t*) override { return true; }
  void WaitForInitialMetadata() override {}

 private:
  std::deque<std::int64_t> steps_;
  const absl::Status end_;
  std::function<void()> before_end_;
};

class WatchTest : public ConnectionGroupTest {
 protected:
  // The next stream: what it tells and how it ends, after a while.
  struct Script {
    std::deque<std::int64_t> steps;
    absl::Status end = Lost();
    absl::Duration lasts;
  };

  void Serve(std::deque<Script> scripts) {
    scripts_ = std::move(scripts);
    EXPECT_CALL(*stub_, WatchSession)
        .WillRepeatedly([this](auto*, const auto& request) {
          asked_.push_back(request.from_step());
          uid_ = request.session_uid();
          Script script;
          script.end = MakeError(Reason::kSessionNotFound, "deleted");
          if (!scripts_.empty()) {
            script = std::move(scripts_.front());
            scripts_.pop_front();
          }
          return std::make_unique<FakeReader>(
              script.steps, script.end,
              [this, lasts = script.lasts] { clock_->Advance(lasts); });
        });
  }
  absl::Status Watch(std::int64_t from_step, std::int64_t until = 1'000'000) {
    return Connect()->WatchSession(kSession, {.from_step = from_step},
                                   [&](const Decision& decision) {
                                     seen_.push_back(decision.step);
                                     return decision.step < until;
                                   });
  }

  std::deque<Script> scripts_;
  std::vector<std::int64_t> asked_;
  std::vector<std::int64_t> seen_;
  std::string uid_;
};

TEST_F(WatchTest, IsResumedWhereItWasAndEndsWhenNoMoreIsWanted) {
  Serve({{.steps = {4, 5}}, {.steps = {6, 7, 8}}});
  EXPECT_THAT(Watch(4, 7), IsOk());
  EXPECT_THAT(asked_, ElementsAre(4, 6));
  EXPECT_THAT(seen_, ElementsAre(4, 5, 6, 7));
}

// 1 means all that are kept, and numbers may be left out after lost decisions.
TEST_F(WatchTest, BeginsAndGoesOnWithWhatIsKept) {
  Serve({{.steps = {500, 501, 1'000'502}}});
  EXPECT_THAT(Watch(1, 1'000'502), IsOk());
  EXPECT_THAT(seen_, ElementsAre(500, 501, 1'000'502));
}

TEST_F(WatchTest, TakesNoDecisionTwice) {
  Serve({{.steps = {4, 5, 5}}});
  EXPECT_THAT(Watch(4), IsErrorSaying(Reason::kMalformedAnswer, "step 5"));
  Serve({{.steps = {3}}});
  EXPECT_THAT(Watch(4), IsErrorSaying(Reason::kMalformedAnswer, "step 3"));
  EXPECT_THAT(seen_, ElementsAre(4, 5));
}

TEST_F(WatchTest, EndsWithTheSession) {
  Serve({{.steps = {4}}});
  EXPECT_THAT(Watch(4), IsError(Reason::kSessionNotFound));
}

TEST_F(WatchTest, FromNowOnIsANumberOfThatSession) {
  EXPECT_CALL(*stub_, GetSession).WillOnce([](auto*, auto&, auto* response) {
    v1::Session* session = response->mutable_session();
    session->set_name("team/run");
    session->set_uid("uid-9");
    wire::ToProto(*LossScaler::Dynamic(1024, 2, 100),
                  session->mutable_config());
    wire::ToProto(*LossScaler::Dynamic(1024, 2, 100),
                  session->mutable_scaler());
    session->mutable_current()->set_step(5);
    session->mutable_current()->set_scale(1024);
    session->mutable_current()->set_epoch(1);
    return absl::OkStatus();
  });
  Serve({{.steps = {}}, {.steps = {5}}});
  EXPECT_THAT(Watch(0, 5), IsOk());
  EXPECT_THAT(asked_, ElementsAre(5, 5));
  EXPECT_EQ(uid_, "uid-9");
}

TEST_F(WatchTest, AServerThatStaysAwaySpendsTheBudget) {
  Serve(std::deque<Script>(1000));
  EXPECT_THAT(Watch(1), IsError(Reason::kUnavailableBudgetSpent));
}

// Nothing was decided between two restarts of the server, an hour apart.
TEST_F(WatchTest, AnIdleStreamWasAConnection) {
  Serve({{.lasts = absl::Hours(1)}, {.lasts = absl::Hours(1)}, {.steps = {1}}});
  EXPECT_THAT(Watch(1, 1), IsOk());
}

}  // namespace
}  // namespace lossscaler::internal
