// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/connection.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/internal/connection_impl.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
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
using ::testing::Return;

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    options_.clock = std::make_shared<FakeClock>();
    options_.unavailable_budget = absl::Seconds(30);
  }

  std::shared_ptr<Connection> Connect() {
    return std::make_shared<ConnectionImpl>(stub_, options_);
  }

  static absl::Status Lost() { return absl::UnavailableError("lost"); }

  static v1::Session ASession() {
    v1::Session session;
    session.set_name("team/run");
    session.set_uid("uid-1");
    wire::ToProto(*LossScaler::Dynamic(1024, 2, 100), session.mutable_config());
    wire::ToProto(*LossScaler::Dynamic(512, 2, 100), session.mutable_scaler());
    session.mutable_current()->set_step(5);
    session.mutable_current()->set_scale(512);
    session.mutable_current()->set_base(3);
    session.mutable_current()->set_epoch(2);
    session.set_applied(3);
    session.set_skipped(1);
    session.set_attempted(4);
    return session;
  }

  static void Decide(std::int64_t step, v1::UpdateResponse* response) {
    Decision decision;
    decision.step = step;
    decision.scale_before = 16;
    wire::ToProto(decision, response->mutable_decision());
    wire::ToProto(Current{.step = step + 1, .scale = 8, .base = step},
                  response->mutable_current());
  }

  std::shared_ptr<MockStub> stub_ = std::make_shared<MockStub>();
  ClientOptions options_;
};

TEST_F(ConnectionTest, CreatesASoloSessionAndReadsTheAnswer) {
  v1::CreateSessionRequest sent;
  EXPECT_CALL(*stub_, CreateSession)
      .WillOnce([&](auto*, const auto& request, auto* response) {
        sent = request;
        *response->mutable_session() = ASession();
        return absl::OkStatus();
      });
  const auto info = Connect()->CreateSession(
      "team/run", *LossScaler::Dynamic(1024, 2, 100), IfExists::kReturnIfEqual);
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(sent.session(), "team/run");
  EXPECT_EQ(sent.kind(), v1::SESSION_KIND_SOLO);
  EXPECT_EQ(sent.if_exists(), v1::IF_EXISTS_RETURN_IF_EQUAL);
  EXPECT_EQ(sent.scaler().dynamic().growth_interval(), 100);
  EXPECT_EQ(info->uid, "uid-1");
  EXPECT_EQ(info->config, *LossScaler::Dynamic(1024, 2, 100));
  EXPECT_EQ(info->scaler, *LossScaler::Dynamic(512, 2, 100));
  EXPECT_EQ(info->current,
            (Current{.step = 5, .scale = 512, .base = 3, .epoch = 2}));
  EXPECT_EQ(info->attempted, 4);
  EXPECT_EQ(info->last_decision, std::nullopt);
}

// A second id would make a second session, or refuse the first one's echo.
TEST_F(ConnectionTest, KeepsTheRequestIdOverTheAttemptsOfACall) {
  std::vector<std::string> ids;
  EXPECT_CALL(*stub_, DeleteSession)
      .Times(4)
      .WillRepeatedly([&](auto*, const auto& request, auto*) {
        ids.push_back(request.request_id());
        return ids.size() % 2 == 1 ? Lost() : absl::OkStatus();
      });
  const auto connection = Connect();
  EXPECT_THAT(connection->DeleteSession({.name = "a", .uid = "u"}), IsOk());
  EXPECT_THAT(connection->DeleteSession({.name = "a", .uid = "u"}), IsOk());
  ASSERT_EQ(ids.size(), 4);
  EXPECT_FALSE(ids[0].empty());
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[2], ids[3]);
  EXPECT_NE(ids[0], ids[2]);
}

TEST_F(ConnectionTest, TriesEveryAttemptWithAContextAndDeadlineOfItsOwn) {
  std::vector<bool> future;
  EXPECT_CALL(*stub_, GetServerInfo)
      .Times(2)
      .WillRepeatedly([&](grpc::ClientContext* context, const auto&, auto*) {
        future.push_back(context->deadline() >
                         std::chrono::system_clock::now());
        // Would abort on a context that has been used.
        context->set_deadline(std::chrono::system_clock::now());
        return future.size() == 1 ? Lost() : absl::OkStatus();
      });
  EXPECT_THAT(Connect()->GetServerInfo(), IsOk());
  EXPECT_THAT(future, ElementsAre(true, true));
}

TEST_F(ConnectionTest, GivesUpWhenTheBudgetIsSpent) {
  EXPECT_CALL(*stub_, GetSession).WillRepeatedly([](auto&&...) {
    return Lost();
  });
  EXPECT_THAT(Connect()->GetSession({.name = "a", .uid = ""}),
              IsErrorSaying(Reason::kUnavailableBudgetSpent, "GetSession"));
}

TEST_F(ConnectionTest, SendsAVoteAndReadsItsDecision) {
  v1::UpdateRequest sent;
  EXPECT_CALL(*stub_, Update)
      .WillOnce([&](auto*, const auto& request, auto* response) {
        sent = request;
        Decide(5, response);
        return absl::OkStatus();
      });
  Vote vote;
  vote.verdict = Verdict::kFinite;
  vote.scale_used = 16;
  vote.base = 4;
  vote.base_session_uid = "uid-1";
  vote.iteration = 77;
  const auto answer =
      Connect()->Update({.session = {.name = "team/run", .uid = "uid-1"},
                         .step = 5,
                         .vote = vote});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(sent.session_uid(), "uid-1");
  EXPECT_EQ(sent.step(), 5);
  EXPECT_EQ(sent.verdict(), v1::VERDICT_FINITE);
  EXPECT_EQ(sent.scale_used(), 16);
  EXPECT_EQ(sent.base().step(), 4);
  EXPECT_EQ(sent.base().session_uid(), "uid-1");
  EXPECT_EQ(sent.iteration(), 77);
  EXPECT_TRUE(answer->decision.apply());
  EXPECT_EQ(answer->current.step, 6);
}

TEST_F(ConnectionTest, RetriesADeadlineOfAnUpdateOnlyIfItCanBeRecognised) {
  const auto attempts = [&](std::optional<std::int64_t> step,
                            const std::string& request_id) {
    int count = 0;
    EXPECT_CALL(*stub_, Update)
        .WillRepeatedly([&](auto*, const auto&, auto* response) {
          if (++count == 1) return absl::DeadlineExceededError("slow");
          Decide(5, response);
          return absl::OkStatus();
        });
    Vote vote;
    vote.verdict = Verdict::kFinite;
    vote.request_id = request_id;
    const auto answer = Connect()->Update(
        {.session = {.name = "a", .uid = ""}, .step = step, .vote = vote});
    EXPECT_EQ(answer.ok(), count == 2);
    return count;
  };
  EXPECT_EQ(attempts(5, ""), 2);
  EXPECT_EQ(attempts(std::nullopt, "r"), 2);
  EXPECT_EQ(attempts(std::nullopt, ""), 1);
}

TEST_F(ConnectionTest, MakesASingleAttemptWhenAsked) {
  EXPECT_CALL(*stub_, Update).WillOnce([](auto&&...) { return Lost(); });
  Vote vote;
  vote.verdict = Verdict::kSkip;
  EXPECT_THAT(Connect()->Update({.session = {.name = "a", .uid = ""},
                                 .step = 1,
                                 .vote = vote,
                                 .single_attempt = absl::Seconds(2)}),
              HasCode(absl::StatusCode::kUnavailable));
}

// Applying another step's decision would be worse than no answer.
TEST_F(ConnectionTest, RefusesTheDecisionOfAnotherStep) {
  EXPECT_CALL(*stub_, Update).WillOnce([](auto*, const auto&, auto* response) {
    Decide(4, response);
    return absl::OkStatus();
  });
  EXPECT_THAT(Connect()->Update({.session = {.name = "a", .uid = ""},
                                 .step = 5,
                                 .vote = {.verdict = Verdict::kFinite}}),
              IsError(Reason::kMalformedAnswer));
}

// The one mistake that would spoil a model in silence.
TEST_F(ConnectionTest, RefusesToApplyWhatTheVoteDoesNotAllow) {
  const auto decided = [&](const Vote& vote) {
    EXPECT_CALL(*stub_, Update)
        .WillOnce([](auto*, const auto&, auto* response) {
          Decide(5, response);
          return absl::OkStatus();
        });
    return Connect()->Update(
        {.session = {.name = "a", .uid = ""}, .step = 5, .vote = vote});
  };
  for (const Verdict verdict :
       {Verdict::kOverflow, Verdict::kSkip, Verdict::kAbstain}) {
    EXPECT_THAT(decided({.verdict = verdict}),
                IsErrorSaying(Reason::kMalformedAnswer, "APPLY"));
  }
  EXPECT_THAT(decided({.verdict = Verdict::kFinite, .scale_used = 32}),
              IsErrorSaying(Reason::kMalformedAnswer, "32"));
  EXPECT_THAT(decided({.verdict = Verdict::kFinite, .scale_used = 16}), IsOk());
  // The server resolves what it has streamed itself.
  EXPECT_THAT(decided({.stream_ids = {"s"}}), IsOk());
}

TEST_F(ConnectionTest, RefusesFlagsOfLossesThatWereNotSent) {
  for (const int index : {-1, 1}) {
    for (const bool finite : {false, true}) {
      EXPECT_CALL(*stub_, ScaleLoss)
          .WillOnce([=](auto*, const auto&, auto* response) {
            response->add_scaled_losses(1);
            if (finite) {
              response->add_overflowing_losses(index);
            } else {
              response->add_non_finite_losses(index);
            }
            return absl::OkStatus();
          });
      const float losses[] = {1};
      EXPECT_THAT(Connect()->ScaleLoss(
                      {.session = {.name = "a", .uid = ""}, .losses = losses}),
                  IsError(Reason::kMalformedAnswer));
    }
  }
}

TEST_F(ConnectionTest, AnInfiniteDeadlineIsStillInTheFuture) {
  options_.unary_deadline = absl::InfiniteDuration();
  options_.unavailable_budget = absl::InfiniteDuration();
  EXPECT_CALL(*stub_, GetServerInfo)
      .WillOnce([](grpc::ClientContext* context, const auto&, auto*) {
        EXPECT_GT(context->deadline(),
                  std::chrono::system_clock::now() + std::chrono::hours(1));
        return absl::OkStatus();
      });
  EXPECT_THAT(Connect()->GetServerInfo(), IsOk());
}

TEST_F(ConnectionTest, SendsTheRequestIdOfARestore) {
  std::vector<std::string> ids;
  EXPECT_CALL(*stub_, RestoreSession)
      .Times(2)
      .WillRepeatedly([&](auto*, const auto& request, auto*) {
        ids.push_back(request.request_id());
        return absl::PermissionDeniedError("no");
      });
  const auto connection = Connect();
  for (const std::string id : {"mine", ""}) {
    EXPECT_THAT(connection->RestoreSession({.name = "a", .uid = ""},
                                           LossScaler::None(), 1, id),
                HasCode(absl::StatusCode::kPermissionDenied));
  }
  EXPECT_EQ(ids[0], "mine");
  EXPECT_FALSE(ids[1].empty());
}

TEST_F(ConnectionTest, RefusesADecisionWithoutOutcome) {
  EXPECT_CALL(*stub_, Update).WillOnce([](auto*, const auto&, auto* response) {
    Decide(5, response);
    response->mutable_decision()->clear_outcome();
    return absl::OkStatus();
  });
  EXPECT_THAT(Connect()->Update({.session = {.name = "a", .uid = ""},
                                 .step = 5,
                                 .vote = {.verdict = Verdict::kFinite}}),
              IsError(Reason::kMalformedAnswer));
}

TEST_F(ConnectionTest, ScalesLosses) {
  EXPECT_CALL(*stub_, ScaleLoss)
      .WillOnce([](auto*, const auto& request, auto* response) {
        EXPECT_THAT(request.losses(), ElementsAre(1.5F, 2));
        EXPECT_EQ(request.loss_type(), v1::ELEMENT_TYPE_FLOAT16);
        response->add_scaled_losses(6);
        response->add_scaled_losses(8);
        response->set_scale(4);
        response->set_step(request.step());
        response->add_overflowing_losses(1);
        return absl::OkStatus();
      });
  const float losses[] = {1.5F, 2};
  const auto answer =
      Connect()->ScaleLoss({.session = {.name = "a", .uid = ""},
                            .step = 3,
                            .losses = losses,
                            .loss_type = ElementType::kFloat16});
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->scaled_losses, ElementsAre(6, 8));
  EXPECT_THAT(answer->overflowing_losses, ElementsAre(1));
}

TEST_F(ConnectionTest, RefusesAnAnswerWithTooFewLosses) {
  EXPECT_CALL(*stub_, ScaleLoss).WillOnce(Return(absl::OkStatus()));
  const float losses[] = {1};
  EXPECT_THAT(Connect()->ScaleLoss(
                  {.session = {.name = "a", .uid = ""}, .losses = losses}),
              IsError(Reason::kMalformedAnswer));
}

// --- what gRPC would refuse without a reason is refused before it is sent ---

TEST_F(ConnectionTest, SendsNothingForANameThatIsNotAllowed) {
  const auto connection = Connect();
  const SessionRef bad{.name = "a//b", .uid = ""};
  const auto invalid = IsError(Reason::kInvalidSessionName);
  EXPECT_THAT(
      connection->CreateSession("a b", LossScaler::None(), IfExists::kFail),
      invalid);
  EXPECT_THAT(connection->GetSession(bad), invalid);
  EXPECT_THAT(connection->DeleteSession(bad), invalid);
  EXPECT_THAT(connection->RestoreSession(bad, LossScaler::None(), {}, ""),
              invalid);
  EXPECT_THAT(connection->ScaleLoss({.session = bad}), invalid);
  EXPECT_THAT(connection->Update({.session = bad}), invalid);
  EXPECT_THAT(connection->Unscale({.session = bad}), invalid);
}

TEST_F(ConnectionTest, SendsNoTextThatIsNotUtf8) {
  const auto connection = Connect();
  EXPECT_THAT(connection->ListSessions("\xFF", 0, ""),
              IsErrorSaying(Reason::kInvalidField, "prefix"));
  EXPECT_THAT(connection->ListSessions("", 0, "\xFF"),
              IsErrorSaying(Reason::kInvalidField, "page_token"));
  EXPECT_THAT(connection->GetSession({.name = "a", .uid = "\xFF"}),
              IsErrorSaying(Reason::kInvalidField, "session_uid"));
  Vote vote;
  vote.request_id = "a b";
  EXPECT_THAT(
      connection->Update({.session = {.name = "a", .uid = ""}, .vote = vote}),
      IsErrorSaying(Reason::kInvalidField, "request_id"));
}

TEST_F(ConnectionTest, SendsNoMessageOver4MiB) {
  const std::vector<float> losses(1 << 20);
  EXPECT_THAT(Connect()->ScaleLoss(
                  {.session = {.name = "a", .uid = ""}, .losses = losses}),
              IsError(Reason::kTooManyLosses));
  const std::vector<float> memory(9'000);
  std::vector<GradientTensor> tensors;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    tensors.push_back(CheckOnly(std::string(500, 'x') + std::to_string(i),
                                std::span(memory).subspan(i, 1)));
  }
  EXPECT_THAT(Connect()->Unscale(
                  {.session = {.name = "a", .uid = ""}, .tensors = tensors}),
              IsError(Reason::kTooManyTensors));
}

// No attempt is made, so nothing can leak and nothing is retried.
class BadCredentialsTest : public ConnectionTest {
 protected:
  void ExpectRefused(const std::string& what) {
    EXPECT_CALL(*stub_, GetServerInfo).Times(0);
    EXPECT_CALL(*stub_, Update).Times(0);
    EXPECT_CALL(*stub_, Unscale).Times(0);
    const auto connection = Connect();
    const auto expected = IsErrorSaying(Reason::kInvalidCredentials, what);
    EXPECT_THAT(connection->GetServerInfo(), expected);
    UpdateCall update{.session = {.name = "a"}, .step = 1};
    update.vote.verdict = Verdict::kFinite;
    EXPECT_THAT(connection->Update(update), expected);
    update.single_attempt = absl::Seconds(1);
    EXPECT_THAT(connection->Update(update), expected);
    float value = 1;
    const GradientTensor tensors[] = {InPlace("w", std::span(&value, 1))};
    EXPECT_THAT(
        connection->Unscale({.session = {.name = "a"}, .tensors = tensors}),
        expected);
    // And a connection can always be made.
    EXPECT_NE(MakeConnection(options_), nullptr);
  }
};

TEST_F(BadCredentialsTest, ATokenWouldLeaveThisMachineWithoutTls) {
  options_.address = "scaler.example.org:50551";
  options_.token = "t0ken";
  ExpectRefused("scaler.example.org");
}

TEST_F(BadCredentialsTest, ATokenIsNoHeader) {
  options_.token = "two\r\nlines";
  ExpectRefused("byte 4");
  options_.token = std::string(4097, 'x');
  ExpectRefused("4097");
}

TEST_F(BadCredentialsTest, ACertificateHasNoKeyOrAKeyNoCertificate) {
  options_.tls = TlsOptions{.certificate_chain = "c"};
  ExpectRefused("not a private key");
  options_.tls = TlsOptions{.private_key = "k"};
  ExpectRefused("not a certificate chain");
}

TEST_F(BadCredentialsTest, PemBlocksHoldRubbish) {
  const std::string rubbish =
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  options_.tls = TlsOptions{.ca_certificates = rubbish};
  ExpectRefused("certificate 1 of the CA certificates cannot be read");
  options_.tls = TlsOptions{.ca_certificates = "no PEM at all"};
  ExpectRefused("no certificate in the CA certificates");
  options_.tls =
      TlsOptions{.certificate_chain = rubbish, .private_key = rubbish};
  ExpectRefused("certificate 1 of the certificate chain cannot be read");
}

TEST_F(ConnectionTest, ReadsEveryLimitOfTheServer) {
  EXPECT_CALL(*stub_, GetServerInfo).WillOnce([](auto*, auto&, auto* response) {
    v1::ServerLimits* limits = response->mutable_limits();
    limits->set_max_sessions(1);
    limits->set_max_unscale_streams(2);
    limits->set_max_bytes_in_flight(3);
    limits->set_max_tensors_per_stream(4);
    limits->set_max_chunk_bytes(5);
    limits->set_max_losses_per_call(6);
    limits->set_replayable_decisions(7);
    limits->set_unscale_idle_millis(8'500);
    limits->set_max_workers_per_session(9);
    limits->set_max_watch_streams(10);
    limits->set_max_open_calls(11);
    limits->set_max_parts_per_vote(12);
    return absl::OkStatus();
  });
  const auto info = Connect()->GetServerInfo();
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->limits.max_sessions, 1);
  EXPECT_EQ(info->limits.max_unscale_streams, 2);
  EXPECT_EQ(info->limits.max_bytes_in_flight, 3);
  EXPECT_EQ(info->limits.max_tensors_per_stream, 4);
  EXPECT_EQ(info->limits.max_chunk_bytes, 5);
  EXPECT_EQ(info->limits.max_losses_per_call, 6);
  EXPECT_EQ(info->limits.replayable_decisions, 7);
  EXPECT_EQ(info->limits.unscale_idle, absl::Milliseconds(8'500));
  EXPECT_EQ(info->limits.max_workers_per_session, 9);
  EXPECT_EQ(info->limits.max_watch_streams, 10);
  EXPECT_EQ(info->limits.max_open_calls, 11);
  EXPECT_EQ(info->limits.max_parts_per_vote, 12);
}

}  // namespace
}  // namespace lossscaler::internal
