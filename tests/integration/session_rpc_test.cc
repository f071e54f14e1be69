// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the calls that do not stream mean, over gRPC.

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::ToAbsl;
using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

server::Limits FewSessions() {
  server::Limits limits;
  limits.max_sessions = 5;
  limits.max_losses_per_call = 4;
  return limits;
}

class SessionRpc : public ::testing::Test {
 protected:
  using Stub = v1::LossScalerService::Stub;

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*rpc)(grpc::ClientContext*,
                                              const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    response->Clear();
    return ToAbsl((stub_.get()->*rpc)(&context, request, response));
  }

  // A request to create a Dynamic session with the defaults of every knob.
  static v1::CreateSessionRequest Dynamic(const std::string& name,
                                          double scale = 65536) {
    v1::CreateSessionRequest request;
    request.set_session(name);
    request.mutable_scaler()->mutable_dynamic()->set_scale(scale);
    return request;
  }

  absl::Status Create(const v1::CreateSessionRequest& request) {
    return Call(&Stub::CreateSession, request, &created_);
  }

  absl::Status Vote(std::int64_t step, v1::Verdict verdict) {
    v1::UpdateRequest request;
    request.set_session("run");
    request.set_step(step);
    request.set_verdict(verdict);
    return Call(&Stub::Update, request, &updated_);
  }

  absl::Status Get(const std::string& name, const std::string& uid = "") {
    v1::GetSessionRequest request;
    request.set_session(name);
    request.set_session_uid(uid);
    return Call(&Stub::GetSession, request, &got_);
  }

  absl::Status Delete(const std::string& name, const std::string& request_id) {
    v1::DeleteSessionRequest request;
    request.set_session(name);
    request.set_request_id(request_id);
    v1::DeleteSessionResponse response;
    return Call(&Stub::DeleteSession, request, &response);
  }

  absl::Status Scale(const v1::ScaleLossRequest& request) {
    return Call(&Stub::ScaleLoss, request, &scaled_);
  }

  InProcessServer server_{FewSessions()};
  std::unique_ptr<Stub> stub_ = server_.NewStub();
  v1::CreateSessionResponse created_;
  v1::GetSessionResponse got_;
  v1::UpdateResponse updated_;
  v1::ScaleLossResponse scaled_;
};

TEST_F(SessionRpc, CreatesWithDefaultsAndShowsConfigurationApartFromState) {
  ASSERT_THAT(Create(Dynamic("team/run")), IsOk());
  EXPECT_TRUE(created_.created());
  const v1::Session& session = created_.session();
  EXPECT_EQ(session.name(), "team/run");
  EXPECT_EQ(session.uid().size(), 32);
  EXPECT_EQ(session.kind(), v1::SESSION_KIND_SOLO);
  EXPECT_EQ(session.config().dynamic().growth_factor(), 2);
  EXPECT_EQ(session.config().dynamic().backoff_factor(), 0.5);
  EXPECT_EQ(session.config().dynamic().growth_interval(), 2000);
  EXPECT_EQ(session.current().step(), 1);
  EXPECT_EQ(session.current().scale(), 65536);
  EXPECT_EQ(session.current().base(), 0);
  EXPECT_EQ(session.current().epoch(), 1);
  EXPECT_FALSE(session.has_last_decision());
  EXPECT_EQ(session.scaler_json(),
            R"({"Dynamic":{"scale":65536.0,"growth_factor":2.0,)"
            R"("backoff_factor":0.5,"growth_interval":2000,)"
            R"("steps_since_overflow":0}})");
}

TEST_F(SessionRpc, CreateTwiceFailsUnlessRepeatedOrAskedToReturnTheSame) {
  v1::CreateSessionRequest request = Dynamic("run");
  request.set_request_id("first");
  ASSERT_THAT(Create(request), IsOk());
  const std::string uid = created_.session().uid();
  ASSERT_THAT(Create(request), IsOk());
  EXPECT_EQ(created_.session().uid(), uid);

  request.set_request_id("second");
  EXPECT_THAT(Create(request), IsError(Reason::kSessionExists));
  request.set_if_exists(v1::IF_EXISTS_RETURN_IF_EQUAL);
  ASSERT_THAT(Create(request), IsOk());
  EXPECT_FALSE(created_.created());
  EXPECT_EQ(created_.session().uid(), uid);

  request.mutable_scaler()->mutable_dynamic()->set_growth_interval(7);
  EXPECT_THAT(Create(request), IsError(Reason::kConfigMismatch));
}

TEST_F(SessionRpc, ReturnIfEqualComparesTheConfigurationNotTheState) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  ASSERT_THAT(Vote(1, v1::VERDICT_OVERFLOW), IsOk());
  v1::CreateSessionRequest again = Dynamic("run");
  again.set_if_exists(v1::IF_EXISTS_RETURN_IF_EQUAL);
  ASSERT_THAT(Create(again), IsOk());
  EXPECT_EQ(created_.session().current().scale(), 32768);
  EXPECT_EQ(created_.session().config().dynamic().scale(), 65536);
}

TEST_F(SessionRpc, BadConfigurationsAreRefusedAndLeaveNoSession) {
  using Edit = std::function<void(v1::DynamicScaler*)>;
  const std::vector<Edit> edits = {
      [](v1::DynamicScaler* d) { d->set_growth_factor(1); },
      [](v1::DynamicScaler* d) { d->set_growth_factor(kNotANumber); },
      [](v1::DynamicScaler* d) { d->set_backoff_factor(1); },
      [](v1::DynamicScaler* d) { d->set_backoff_factor(-0.5); },
      [](v1::DynamicScaler* d) { d->set_growth_interval(-1); },
      [](v1::DynamicScaler* d) { d->set_scale(0); },
      [](v1::DynamicScaler* d) { d->set_scale(-1); },
      [](v1::DynamicScaler* d) { d->set_scale(kNotANumber); },
      [](v1::DynamicScaler* d) { d->set_scale(kInfinity); },
      [](v1::DynamicScaler* d) { d->set_scale(1e39); },
      [](v1::DynamicScaler* d) {
        d->set_min_scale(8);
        d->set_max_scale(4);
      },
      [](v1::DynamicScaler* d) { d->set_hysteresis(-1); },
      [](v1::DynamicScaler* d) {
        d->set_precision(static_cast<v1::StatePrecision>(9));
      },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    v1::CreateSessionRequest request = Dynamic("run");
    edits[i](request.mutable_scaler()->mutable_dynamic());
    EXPECT_THAT(Create(request), IsError(Reason::kInvalidScaler)) << i;
  }
  v1::CreateSessionRequest request;
  request.set_session("run");
  EXPECT_THAT(Create(request), IsError(Reason::kInvalidScaler));
  request.mutable_scaler()->mutable_static_()->set_scale(-8);
  EXPECT_THAT(Create(request), IsError(Reason::kInvalidScaler));
  EXPECT_THAT(Get("run"), IsError(Reason::kSessionNotFound));
  EXPECT_EQ(server_.registry().size(), 0);
}

TEST_F(SessionRpc, BadNamesAreRefusedSayingWhatIsAllowed) {
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("/a"), std::string("a/"),
        std::string("a//b"), std::string(".a"), std::string("\xC3\xA4"),
        std::string(201, 'a'), std::string(64, 'a')}) {
    EXPECT_THAT(Create(Dynamic(name)), IsError(Reason::kInvalidSessionName))
        << name;
    EXPECT_THAT(Get(name),
                IsErrorSaying(Reason::kInvalidSessionName, "letters, digits"))
        << name;
  }
}

TEST_F(SessionRpc, SessionsOverTheLimitAreRefused) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(Create(Dynamic("s" + std::to_string(i))), IsOk());
  }
  EXPECT_THAT(Create(Dynamic("one-more")), IsError(Reason::kTooManySessions));
  ASSERT_THAT(Delete("s0", ""), IsOk());
  EXPECT_THAT(Create(Dynamic("one-more")), IsOk());
}

TEST_F(SessionRpc, ListsInPagesByPrefixInTheOrderOfNames) {
  for (const char* name : {"b/2", "a/1", "b/1", "b/3", "c"}) {
    ASSERT_THAT(Create(Dynamic(name)), IsOk());
  }
  v1::ListSessionsRequest request;
  request.set_prefix("b/");
  request.set_page_size(2);
  v1::ListSessionsResponse page;
  ASSERT_THAT(Call(&Stub::ListSessions, request, &page), IsOk());
  ASSERT_EQ(page.sessions_size(), 2);
  EXPECT_EQ(page.sessions(0).name(), "b/1");
  EXPECT_EQ(page.sessions(1).name(), "b/2");
  request.set_page_token(page.next_page_token());
  ASSERT_THAT(Call(&Stub::ListSessions, request, &page), IsOk());
  ASSERT_EQ(page.sessions_size(), 1);
  EXPECT_EQ(page.sessions(0).name(), "b/3");
  EXPECT_EQ(page.next_page_token(), "");

  request.set_page_token("a/1");
  EXPECT_THAT(Call(&Stub::ListSessions, request, &page),
              IsErrorSaying(Reason::kInvalidField, "page_token"));
  request.clear_page_token();
  request.set_page_size(1001);
  EXPECT_THAT(Call(&Stub::ListSessions, request, &page),
              IsErrorSaying(Reason::kInvalidField, "page_size"));
}

TEST_F(SessionRpc, ARepeatedDeleteSucceedsAndSparesTheNextSessionOfTheName) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  const std::string old_uid = created_.session().uid();
  ASSERT_THAT(Delete("run", "d1"), IsOk());
  EXPECT_THAT(Delete("run", "d1"), IsOk());
  EXPECT_THAT(Delete("run", "d2"), IsError(Reason::kSessionNotFound));

  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  EXPECT_NE(created_.session().uid(), old_uid);
  EXPECT_THAT(Delete("run", "d1"), IsOk());
  EXPECT_THAT(Get("run"), IsOk());
  EXPECT_THAT(Get("run", old_uid), IsError(Reason::kSessionReplaced));
}

TEST_F(SessionRpc, TheScaleFollowsTheDecisions) {
  v1::CreateSessionRequest request = Dynamic("run");
  request.mutable_scaler()->mutable_dynamic()->set_growth_interval(3);
  ASSERT_THAT(Create(request), IsOk());
  // Sequence A of the golden traces: start 65536, window 3.
  const std::vector<int> overflows = {0, 0, 0, 1, 1, 0, 0, 0};
  const std::vector<double> scales = {65536, 65536, 131072, 65536,
                                      32768, 32768, 32768,  65536};
  for (std::size_t i = 0; i < overflows.size(); ++i) {
    ASSERT_THAT(Vote(static_cast<std::int64_t>(i) + 1,
                     overflows[i] ? v1::VERDICT_OVERFLOW : v1::VERDICT_FINITE),
                IsOk());
    EXPECT_EQ(updated_.decision().scale_after(), scales[i]) << i;
    EXPECT_EQ(updated_.current().scale(), scales[i]) << i;
    EXPECT_EQ(updated_.current().step(), static_cast<std::int64_t>(i) + 2);
    EXPECT_EQ(updated_.decision().outcome() == v1::OUTCOME_APPLY,
              !overflows[i]);
  }
  EXPECT_EQ(updated_.decision().attempted(), 8);
  EXPECT_EQ(updated_.decision().applied(), 6);
  EXPECT_EQ(updated_.decision().skipped(), 2);
  EXPECT_EQ(updated_.current().base(), 8);
}

TEST_F(SessionRpc, ARepeatedVoteGetsTheSameBytesAndAnotherVoteNever) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  ASSERT_THAT(Vote(1, v1::VERDICT_OVERFLOW), IsOk());
  const std::string first = updated_.decision().SerializeAsString();
  ASSERT_THAT(Vote(2, v1::VERDICT_FINITE), IsOk());
  ASSERT_THAT(Vote(1, v1::VERDICT_OVERFLOW), IsOk());
  EXPECT_EQ(updated_.decision().SerializeAsString(), first);
  EXPECT_EQ(updated_.current().step(), 3);
  EXPECT_THAT(Vote(1, v1::VERDICT_FINITE), IsError(Reason::kVoteConflict));
  EXPECT_THAT(Vote(2, v1::VERDICT_OVERFLOW), IsError(Reason::kVoteConflict));
  EXPECT_THAT(Vote(4, v1::VERDICT_FINITE),
              IsErrorSaying(Reason::kStepAhead, "step 3"));
  EXPECT_THAT(Vote(0, v1::VERDICT_FINITE), IsError(Reason::kInvalidField));
}

TEST_F(SessionRpc, VotesOlderThanTheReplayWindowAreForgotten) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  for (int step = 1; step <= 1026; ++step) {
    ASSERT_THAT(Vote(step, v1::VERDICT_SKIP), IsOk());
  }
  // The open step is 1027; 1,024 before it can be asked for.
  EXPECT_THAT(Vote(3, v1::VERDICT_SKIP), IsOk());
  EXPECT_THAT(Vote(2, v1::VERDICT_SKIP), IsError(Reason::kStepForgotten));
}

TEST_F(SessionRpc, AVoteWithoutStepNeedsARequestIdAndIsDecidedOnce) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  v1::UpdateRequest request;
  request.set_session("run");
  request.set_verdict(v1::VERDICT_OVERFLOW);
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsError(Reason::kRequestIdRequired));
  request.set_request_id("r1");
  ASSERT_THAT(Call(&Stub::Update, request, &updated_), IsOk());
  const std::string first = updated_.decision().SerializeAsString();
  ASSERT_THAT(Call(&Stub::Update, request, &updated_), IsOk());
  EXPECT_EQ(updated_.decision().SerializeAsString(), first);
  EXPECT_EQ(updated_.current().step(), 2);
  request.set_request_id("r2");
  ASSERT_THAT(Call(&Stub::Update, request, &updated_), IsOk());
  EXPECT_EQ(updated_.decision().step(), 2);
}

TEST_F(SessionRpc, AVoteMadeWithAnotherScaleOrBaseIsNotRecorded) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  v1::UpdateRequest request;
  request.set_session("run");
  request.set_step(1);
  request.set_verdict(v1::VERDICT_FINITE);
  request.set_scale_used(1024);
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsError(Reason::kScaleMismatch));
  request.set_scale_used(65536);
  request.mutable_base()->set_step(3);
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsError(Reason::kResync));
  request.mutable_base()->set_step(0);
  request.mutable_base()->set_session_uid("0123");
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsError(Reason::kResync));
  request.mutable_base()->set_session_uid(created_.session().uid());
  ASSERT_THAT(Call(&Stub::Update, request, &updated_), IsOk());
  EXPECT_EQ(updated_.decision().step(), 1);
  EXPECT_EQ(updated_.decision().votes_size(), 1);
}

TEST_F(SessionRpc, VotesThatContradictThemselvesAreRefused) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  v1::UpdateRequest request;
  request.set_session("run");
  request.set_step(1);
  request.set_verdict(static_cast<v1::Verdict>(42));
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsErrorSaying(Reason::kInvalidField, "verdict"));
  request.set_verdict(v1::VERDICT_FINITE);
  request.add_stream_ids("s");
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsErrorSaying(Reason::kInvalidField, "stream_ids"));
  request.clear_verdict();
  request.add_stream_ids("s");
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsErrorSaying(Reason::kInvalidField, "twice"));
  request.clear_stream_ids();
  request.set_verdict(v1::VERDICT_ABSTAIN);
  request.mutable_base()->set_session_uid(std::string(1 << 20, 'u'));
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsErrorSaying(Reason::kInvalidField, "base.session_uid"));
  request.clear_base();
  request.set_scale_used(kNotANumber);
  EXPECT_THAT(Call(&Stub::Update, request, &updated_),
              IsErrorSaying(Reason::kInvalidField, "scale_used"));
  request.clear_scale_used();
  for (const double sum : {double{kNotANumber}, double{kInfinity}, -1.0}) {
    request.set_sum_of_squares(sum);
    EXPECT_THAT(Call(&Stub::Update, request, &updated_),
                IsErrorSaying(Reason::kInvalidField, "sum_of_squares"));
  }
}

TEST_F(SessionRpc, ARestoreEndsTheOpenStepAndIsDoneOncePerRequest) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  ASSERT_THAT(Vote(1, v1::VERDICT_FINITE), IsOk());
  v1::RestoreSessionRequest request;
  request.set_session("run");
  request.mutable_state()->mutable_dynamic()->set_scale(256);
  request.mutable_state()->mutable_dynamic()->set_steps_since_overflow(17);
  request.set_if_epoch(1);
  request.set_request_id("restore-1");
  v1::RestoreSessionResponse response;
  ASSERT_THAT(Call(&Stub::RestoreSession, request, &response), IsOk());
  EXPECT_EQ(response.decision().step(), 2);
  EXPECT_EQ(response.decision().outcome(), v1::OUTCOME_ABORTED);
  EXPECT_EQ(response.decision().reason(), v1::DECISION_REASON_RESTORED);
  EXPECT_EQ(response.decision().scale_before(), 65536);
  EXPECT_EQ(response.decision().scale_after(), 256);
  EXPECT_EQ(response.session().current().step(), 3);
  EXPECT_EQ(response.session().current().epoch(), 2);
  EXPECT_EQ(response.session().current().base(), 2);
  EXPECT_EQ(response.session().scaler().dynamic().steps_since_overflow(), 17);

  const std::string first = response.decision().SerializeAsString();
  ASSERT_THAT(Call(&Stub::RestoreSession, request, &response), IsOk());
  EXPECT_EQ(response.decision().SerializeAsString(), first);
  EXPECT_EQ(response.session().current().epoch(), 2);
  request.set_request_id("restore-2");
  EXPECT_THAT(Call(&Stub::RestoreSession, request, &response),
              IsError(Reason::kEpochMismatch));
  request.set_if_epoch(2);
  request.mutable_state()->mutable_dynamic()->set_growth_interval(3);
  EXPECT_THAT(Call(&Stub::RestoreSession, request, &response),
              IsError(Reason::kConfigMismatch));
  // Whoever voted for the step that the restore ended gets its decision.
  ASSERT_THAT(Vote(2, v1::VERDICT_FINITE), IsOk());
  EXPECT_EQ(updated_.decision().outcome(), v1::OUTCOME_ABORTED);
}

TEST_F(SessionRpc, ScalesLossesInFloat32AndFlagsWhatIsNotFinite) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  v1::ScaleLossRequest request;
  request.set_session("run");
  for (const float loss : {0.1f, kNotANumber, -kInfinity, 1e38f})
    request.add_losses(loss);
  ASSERT_THAT(Scale(request), IsOk());
  ASSERT_EQ(scaled_.scaled_losses_size(), 4);
  EXPECT_EQ(scaled_.scaled_losses(0), 0.1f * 65536.0f);
  EXPECT_TRUE(std::isnan(scaled_.scaled_losses(1)));
  EXPECT_EQ(scaled_.scaled_losses(2), -kInfinity);
  EXPECT_EQ(scaled_.scaled_losses(3), kInfinity);
  EXPECT_THAT(scaled_.non_finite_losses(), ElementsAre(1, 2));
  EXPECT_THAT(scaled_.overflowing_losses(), ElementsAre(3));
  EXPECT_EQ(scaled_.scale(), 65536);
  EXPECT_EQ(scaled_.step(), 1);

  // 65504 is the largest float16: a loss of 1 at scale 65536 is beyond it.
  request.clear_losses();
  request.add_losses(0.5f);
  request.add_losses(1.0f);
  request.set_loss_type(v1::ELEMENT_TYPE_FLOAT16);
  ASSERT_THAT(Scale(request), IsOk());
  EXPECT_THAT(scaled_.overflowing_losses(), ElementsAre(1));
  EXPECT_EQ(scaled_.scaled_losses(1), 65536);

  request.set_loss_type(static_cast<v1::ElementType>(77));
  EXPECT_THAT(Scale(request),
              IsErrorSaying(Reason::kInvalidField, "loss_type"));
  request.clear_loss_type();
  for (int i = 0; i < 3; ++i) request.add_losses(1);
  EXPECT_THAT(Scale(request), IsError(Reason::kTooManyLosses));
}

TEST_F(SessionRpc, LossesOfAnOlderStepUseItsScale) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  ASSERT_THAT(Vote(1, v1::VERDICT_OVERFLOW), IsOk());
  v1::ScaleLossRequest request;
  request.set_session("run");
  request.add_losses(1);
  request.set_step(1);
  ASSERT_THAT(Scale(request), IsOk());
  EXPECT_THAT(scaled_.scaled_losses(), ElementsAre(65536));
  request.clear_step();
  ASSERT_THAT(Scale(request), IsOk());
  EXPECT_THAT(scaled_.scaled_losses(), ElementsAre(32768));
}

TEST_F(SessionRpc, AFailingStoreAnswersNothingAndLosesNothing) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  server_.store().FailNextWrite(testing::FaultyStore::Fault::kNotWritten);
  const absl::Status status = Vote(1, v1::VERDICT_OVERFLOW);
  EXPECT_THAT(status, IsError(Reason::kStoreUnavailable));
  EXPECT_TRUE(RetryDelayOf(status).has_value());
  ASSERT_THAT(Get("run"), IsOk());
  EXPECT_EQ(got_.session().current().step(), 1);
  // Nobody saw a decision, so another vote may decide.
  ASSERT_THAT(Vote(1, v1::VERDICT_FINITE), IsOk());
  EXPECT_EQ(updated_.decision().outcome(), v1::OUTCOME_APPLY);

  server_.store().FailNextWrite(testing::FaultyStore::Fault::kWrittenUnknown);
  ASSERT_THAT(Vote(2, v1::VERDICT_FINITE), IsOk());
  EXPECT_EQ(updated_.decision().step(), 2);
}

TEST_F(SessionRpc, ServerInfoDescribesTheServer) {
  ASSERT_THAT(Create(Dynamic("run")), IsOk());
  v1::GetServerInfoResponse info;
  ASSERT_THAT(Call(&Stub::GetServerInfo, v1::GetServerInfoRequest(), &info),
              IsOk());
  EXPECT_EQ(info.version(), "test");
  EXPECT_EQ(info.store(), "memory");
  EXPECT_EQ(info.durability(), "none");
  EXPECT_EQ(info.start_count(), 1);
  EXPECT_EQ(info.sessions(), 1);
  EXPECT_EQ(info.limits().max_sessions(), 5);
  EXPECT_EQ(info.limits().max_chunk_bytes(), (4 << 20) - (64 << 10));
}

}  // namespace
}  // namespace lossscaler
