// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the calls of groups mean, over gRPC.

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "lossscaler/wire/status.h"
#include "testing/in_process_server.h"
#include "testing/participant.h"
#include "testing/status_matchers.h"
#include "testing/unscale_dialog.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::Await;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::Participant;
using ::lossscaler::testing::ToAbsl;
using ::lossscaler::testing::UnscaleDialog;
using ::testing::ElementsAre;
using Stub = v1::LossScalerService::Stub;

server::Limits FewWatchers() {
  server::Limits limits;
  limits.max_watch_streams = 2;
  return limits;
}

server::Limits FewCalls() {
  server::Limits limits;
  limits.max_open_calls = 8;
  return limits;
}

absl::Status ErrorOf(const v1::VoteAnswer& answer) {
  return wire::StatusFromProto(answer.error());
}

// One WatchSession call.
class Watch {
 public:
  Watch(Stub* stub, std::int64_t from_step) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
    v1::WatchSessionRequest request;
    request.set_session("run");
    request.set_from_step(from_step);
    stream_ = stub->WatchSession(&context_, request);
  }
  ~Watch() {
    context_.TryCancel();
    if (!finished_) Finish().IgnoreError();
  }
  // The next decision; step 0 if the stream has ended.
  v1::Decision Next() {
    v1::WatchSessionResponse response;
    if (!stream_->Read(&response)) response.Clear();
    return response.decision();
  }
  absl::Status Finish() {
    v1::WatchSessionResponse rest;
    while (stream_->Read(&rest)) {
    }
    finished_ = true;
    return ToAbsl(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchSessionResponse>> stream_;
  bool finished_ = false;
};

class GroupRpc : public ::testing::Test {
 protected:
  explicit GroupRpc(const server::Limits& limits = FewWatchers())
      : server_(limits), stub_(server_.NewStub()) {}

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*rpc)(grpc::ClientContext*,
                                              const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    response->Clear();
    return ToAbsl((stub_.get()->*rpc)(&context, request, response));
  }

  static v1::CreateSessionRequest Group(std::int64_t min, std::int64_t max) {
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.set_kind(v1::SESSION_KIND_GROUP);
    request.mutable_scaler()->mutable_dynamic()->set_scale(65536);
    request.mutable_group()->set_min_workers(min);
    request.mutable_group()->set_max_workers(max);
    return request;
  }
  absl::Status Create(const v1::CreateSessionRequest& request) {
    v1::CreateSessionResponse response;
    absl::Status status = Call(&Stub::CreateSession, request, &response);
    if (status.ok()) uid_ = response.session().uid();
    return status;
  }
  v1::Session Get(const std::string& name = "run") {
    v1::GetSessionRequest request;
    request.set_session(name);
    v1::GetSessionResponse response;
    EXPECT_THAT(Call(&Stub::GetSession, request, &response), IsOk());
    return response.session();
  }
  // Everything of the session that a refused call must not change.
  std::string State() {
    v1::Session session = Get();
    for (v1::Worker& worker : *session.mutable_workers()) {
      worker.clear_lease_left();
    }
    return session.SerializeAsString();
  }

  static v1::JoinSessionRequest JoinRequest(const std::string& worker) {
    v1::JoinSessionRequest request;
    request.set_session("run");
    request.set_worker(worker);
    request.set_request_id(absl::StrCat("join-", worker));
    return request;
  }
  absl::Status Join(const v1::JoinSessionRequest& request) {
    return Call(&Stub::JoinSession, request, &joined_);
  }
  std::int64_t MustJoin(const std::string& worker) {
    EXPECT_THAT(Join(JoinRequest(worker)), IsOk());
    return joined_.incarnation();
  }
  // A group whose workers w0, w1, ... are all in, as incarnations 1, 2, ...
  void MakeGroup(int workers) {
    ASSERT_THAT(Create(Group(workers, workers)), IsOk());
    for (int i = 0; i < workers; ++i) {
      ASSERT_EQ(MustJoin(absl::StrCat("w", i)), i + 1);
    }
  }
  absl::Status Leave(const std::string& worker, std::int64_t incarnation) {
    v1::LeaveSessionRequest request;
    request.set_session("run");
    request.set_worker(worker);
    request.set_incarnation(incarnation);
    v1::LeaveSessionResponse response;
    return Call(&Stub::LeaveSession, request, &response);
  }

  // A vote that stands where the session began.
  v1::Vote VoteOf(v1::Verdict verdict, double scale = 65536,
                  std::int64_t base = 0) {
    v1::Vote vote;
    vote.set_verdict(verdict);
    vote.set_scale_used(scale);
    vote.set_base(base);
    vote.set_base_session_uid(uid_);
    return vote;
  }
  v1::UpdateRequest UpdateOf(const std::string& worker,
                             std::int64_t incarnation, std::int64_t step,
                             const v1::Vote& vote) {
    v1::UpdateRequest request;
    request.set_session("run");
    request.set_worker(worker);
    request.set_incarnation(incarnation);
    request.set_step(step);
    request.set_verdict(vote.verdict());
    *request.mutable_stream_ids() = vote.stream_ids();
    request.set_scale_used(vote.scale_used());
    request.mutable_base()->set_step(vote.base());
    request.mutable_base()->set_session_uid(vote.base_session_uid());
    if (vote.has_iteration()) request.set_iteration(vote.iteration());
    return request;
  }
  absl::StatusOr<v1::UpdateResponse> Update(const v1::UpdateRequest& request) {
    v1::UpdateResponse response;
    absl::Status status = Call(&Stub::Update, request, &response);
    if (!status.ok()) return status;
    return response;
  }
  std::future<absl::StatusOr<v1::UpdateResponse>> UpdateLater(
      const v1::UpdateRequest& request) {
    return std::async(std::launch::async,
                      [this, request] { return Update(request); });
  }
  bool AwaitVotes(int votes) {
    return Await([this, votes] {
      int seen = 0;
      const v1::Session session = Get();
      for (const v1::Worker& worker : session.workers()) {
        if (worker.has_vote()) ++seen;
      }
      return seen == votes;
    });
  }
  // Decides steps from `first` on with one worker's overflows or skips.
  void Decide(std::int64_t first, std::int64_t last, bool iterations = false) {
    for (std::int64_t step = first; step <= last; ++step) {
      v1::Vote vote = VoteOf(v1::VERDICT_SKIP);
      if (iterations) vote.set_iteration(step / 2);
      const auto answer = Update(UpdateOf("w0", 1, step, vote));
      ASSERT_THAT(answer, IsOk());
      ASSERT_EQ(answer->decision().step(), step);
    }
  }
  void Drain() {
    server_.gate().Close();
    server_.registry().Drain(server_.gate().Draining());
  }

  InProcessServer server_;
  std::unique_ptr<Stub> stub_;
  std::string uid_;
  v1::JoinSessionResponse joined_;
};

// An answered call is counted until the server has heard that it is over: only
// where few calls are what a test is about are few let in.
class GroupRpcOfFewCalls : public GroupRpc {
 protected:
  GroupRpcOfFewCalls() : GroupRpc(FewCalls()) {}
};

TEST_F(GroupRpc, EveryWorkerGetsTheSameBytesOverEitherCall) {
  MakeGroup(4);
  Participant a(stub_.get());
  Participant b(stub_.get());
  a.Open("run", "w0", 1);
  b.Open("run", "w1", 2);
  ASSERT_EQ(a.Read().opened().state(), v1::WORKER_STATE_ACTIVE);
  ASSERT_EQ(b.Read().opened().phase(), v1::GROUP_PHASE_OPEN);

  a.Vote(11, 1, VoteOf(v1::VERDICT_FINITE));
  b.Vote(12, 1, VoteOf(v1::VERDICT_FINITE));
  auto c = UpdateLater(UpdateOf("w2", 3, 1, VoteOf(v1::VERDICT_FINITE)));
  auto d = UpdateLater(UpdateOf("w3", 4, 1, VoteOf(v1::VERDICT_FINITE)));
  const v1::VoteAnswer from_a = a.ReadVote();
  const v1::VoteAnswer from_b = b.ReadVote();
  const auto from_c = c.get();
  const auto from_d = d.get();
  ASSERT_THAT(from_c, IsOk());
  ASSERT_THAT(from_d, IsOk());
  EXPECT_EQ(from_a.sequence(), 11);
  EXPECT_EQ(from_b.sequence(), 12);
  EXPECT_EQ(from_a.decision().outcome(), v1::OUTCOME_APPLY);
  EXPECT_EQ(from_a.decision().votes_size(), 0)
      << "all are told, so tell little";
  EXPECT_EQ(from_a.current().step(), 2);
  const std::string bytes = from_a.decision().SerializeAsString();
  EXPECT_EQ(from_b.decision().SerializeAsString(), bytes);
  EXPECT_EQ(from_c->decision().SerializeAsString(), bytes);
  EXPECT_EQ(from_d->decision().SerializeAsString(), bytes);
  v1::Decision kept = Get().last_decision();
  EXPECT_EQ(kept.votes_size(), 4);
  kept.clear_votes();
  EXPECT_EQ(kept.SerializeAsString(), bytes);

  // A reply that was lost: the same call has the same decision.
  const auto again = Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE)));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->decision().SerializeAsString(), bytes);

  // One overflow is everybody's.
  b.Vote(13, 2, VoteOf(v1::VERDICT_OVERFLOW, 65536, 1));
  const v1::VoteAnswer skip = b.ReadVote();
  EXPECT_EQ(skip.decision().outcome(), v1::OUTCOME_SKIP_OVERFLOW);
  EXPECT_EQ(skip.current().scale(), 32768);
  a.Vote(14, 2, VoteOf(v1::VERDICT_FINITE, 65536, 1));
  EXPECT_EQ(a.ReadVote().decision().SerializeAsString(),
            skip.decision().SerializeAsString());
}

TEST_F(GroupRpc, ShowsItsWorkers) {
  ASSERT_THAT(Create(Group(2, 3)), IsOk());
  EXPECT_EQ(Get().phase(), v1::GROUP_PHASE_IDLE);
  v1::JoinSessionRequest join = JoinRequest("w0");
  join.set_attempt(4);
  ASSERT_THAT(Join(join), IsOk());
  EXPECT_EQ(joined_.session_uid(), uid_);
  EXPECT_EQ(joined_.lease_ttl().seconds(), 30);
  EXPECT_EQ(joined_.membership().phase(), v1::GROUP_PHASE_PAUSED);
  EXPECT_THAT(wire::StatusFromProto(joined_.membership().closed()),
              IsError(Reason::kSessionPaused));
  join = JoinRequest("w1");
  join.set_attempt(4);
  ASSERT_THAT(Join(join), IsOk());
  EXPECT_FALSE(joined_.membership().has_closed());
  auto waiting = UpdateLater(UpdateOf("w1", 2, 1, VoteOf(v1::VERDICT_FINITE)));
  ASSERT_TRUE(AwaitVotes(1));
  const v1::Session session = Get();
  EXPECT_EQ(session.kind(), v1::SESSION_KIND_GROUP);
  EXPECT_EQ(session.group().max_workers(), 3);
  EXPECT_EQ(session.attempt(), 4);
  EXPECT_EQ(session.phase(), v1::GROUP_PHASE_OPEN);
  ASSERT_EQ(session.workers_size(), 2);
  EXPECT_EQ(session.workers(0).worker(), "w0");
  EXPECT_EQ(session.workers(0).state(), v1::WORKER_STATE_ACTIVE);
  EXPECT_FALSE(session.workers(0).has_vote());
  EXPECT_GT(session.workers(0).lease_left().seconds(), 0);
  EXPECT_LE(session.workers(0).lease_left().seconds(), 30);
  EXPECT_EQ(session.workers(1).vote().verdict(), v1::VERDICT_FINITE);
  ASSERT_THAT(Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE))), IsOk());
  ASSERT_THAT(waiting.get(), IsOk());

  v1::ListSessionsResponse listed;
  ASSERT_THAT(Call(&Stub::ListSessions, v1::ListSessionsRequest(), &listed),
              IsOk());
  ASSERT_EQ(listed.sessions_size(), 1);
  EXPECT_EQ(listed.sessions(0).workers_size(), 0);
  EXPECT_EQ(listed.sessions(0).phase(), v1::GROUP_PHASE_OPEN);
  EXPECT_EQ(listed.sessions(0).last_decision().step(), 1);
  EXPECT_EQ(listed.sessions(0).last_decision().votes_size(), 0);
}

TEST_F(GroupRpc, BadGroupsAreRefused) {
  using Edit = std::function<void(v1::CreateSessionRequest*)>;
  const std::vector<Edit> edits = {
      [](auto* r) { r->clear_group(); },
      [](auto* r) { r->set_kind(v1::SESSION_KIND_SOLO); },
      [](auto* r) { r->clear_kind(); },
      [](auto* r) { r->mutable_group()->set_min_workers(3); },
      [](auto* r) { r->mutable_group()->set_max_workers(4097); },
      [](auto* r) { r->mutable_group()->mutable_lease_ttl()->set_seconds(4); },
      [](auto* r) {
        r->mutable_group()->mutable_lease_ttl()->set_seconds(3601);
      },
      [](auto* r) {
        r->mutable_group()->set_on_loss(static_cast<v1::LossPolicy>(9));
      },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    v1::CreateSessionRequest request = Group(1, 2);
    edits[i](&request);
    EXPECT_THAT(Create(request), IsError(Reason::kInvalidGroup)) << i;
  }
  EXPECT_EQ(server_.registry().size(), 0);
}

TEST_F(GroupRpc, RefusedJoinsChangeNothing) {
  ASSERT_THAT(Create(Group(1, 1)), IsOk());
  v1::JoinSessionRequest first = JoinRequest("w0");
  first.set_attempt(2);
  ASSERT_THAT(Join(first), IsOk());
  const std::string before = State();
  using Edit = std::function<void(v1::JoinSessionRequest*)>;
  const std::vector<std::pair<Reason, Edit>> edits = {
      {Reason::kWorkerHeld, [](auto* r) { r->set_worker("w0"); }},
      {Reason::kWorkerHeld,
       [](auto* r) {
         r->set_worker("w0");
         r->set_resume_token("never-given");
       }},
      {Reason::kInvalidField, [](auto* r) { r->set_worker("a\nb"); }},
      {Reason::kInvalidField, [](auto* r) { r->set_worker(""); }},
      {Reason::kInvalidField,
       [](auto* r) { r->set_worker(std::string(65, 'a')); }},
      {Reason::kInvalidField, [](auto* r) { r->set_resume_token("\x01"); }},
      {Reason::kInvalidField, [](auto* r) { r->set_attempt(-1); }},
      {Reason::kRequestIdRequired, [](auto* r) { r->clear_request_id(); }},
      {Reason::kStaleAttempt, [](auto* r) { r->set_attempt(1); }},
      {Reason::kTooManyWorkers, [](auto*) {}},
      {Reason::kInvalidScaler, [](auto* r) { r->mutable_checkpoint(); }},
      {Reason::kConfigMismatch,
       [](auto* r) {
         r->set_worker("w0");
         r->set_attempt(3);
         r->mutable_checkpoint()
             ->mutable_scaler()
             ->mutable_static_()
             ->set_scale(8);
       }},
      {Reason::kSessionReplaced,
       [](auto* r) { r->set_session_uid(std::string(32, '0')); }},
      {Reason::kSessionNotFound, [](auto* r) { r->set_session("other"); }},
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    v1::JoinSessionRequest request = JoinRequest("w1");
    request.set_attempt(2);
    edits[i].second(&request);
    EXPECT_THAT(Join(request), IsError(edits[i].first)) << i;
    EXPECT_EQ(State(), before) << i;
  }
  v1::JoinSessionRequest held = JoinRequest("w0");
  held.set_request_id("another-process");
  held.set_attempt(2);
  const absl::Status error = Join(held);
  EXPECT_THAT(error, IsError(Reason::kWorkerHeld));
  ASSERT_TRUE(RetryDelayOf(error));
  EXPECT_GT(*RetryDelayOf(error), absl::ZeroDuration());
  EXPECT_LE(*RetryDelayOf(error), absl::Seconds(30));
}

TEST_F(GroupRpc, RefusedVotesChangeNothing) {
  MakeGroup(2);
  const std::string before = State();
  using Edit = std::function<void(v1::UpdateRequest*)>;
  const std::vector<std::pair<Reason, Edit>> edits = {
      {Reason::kFenced, [](auto* r) { r->set_incarnation(9); }},
      {Reason::kFenced, [](auto* r) { r->set_worker("w1"); }},
      {Reason::kWrongKind,
       [](auto* r) {
         r->clear_worker();
         r->clear_incarnation();
       }},
      {Reason::kInvalidField, [](auto* r) { r->set_worker("a\nb"); }},
      {Reason::kInvalidField, [](auto* r) { r->set_incarnation(-1); }},
      {Reason::kStepRequired,
       [](auto* r) {
         r->clear_step();
         r->set_request_id("u");
       }},
      {Reason::kStepAhead, [](auto* r) { r->set_step(2); }},
      {Reason::kInvalidField, [](auto* r) { r->set_step(0); }},
      {Reason::kScaleMismatch, [](auto* r) { r->set_scale_used(32768); }},
      {Reason::kInvalidField, [](auto* r) { r->clear_scale_used(); }},
      {Reason::kInvalidField, [](auto* r) { r->clear_base(); }},
      {Reason::kResync, [](auto* r) { r->mutable_base()->set_step(1); }},
      {Reason::kNoGradientsChecked, [](auto* r) { r->clear_verdict(); }},
      {Reason::kVerdictLost,
       [](auto* r) {
         r->clear_verdict();
         r->add_stream_ids("never-opened");
       }},
      {Reason::kSessionReplaced,
       [](auto* r) { r->set_session_uid(std::string(32, '0')); }},
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    v1::UpdateRequest request =
        UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE));
    edits[i].second(&request);
    EXPECT_THAT(Update(request), IsError(edits[i].first)) << i;
    EXPECT_EQ(State(), before) << i;
  }
}

TEST_F(GroupRpc, ADifferentVoteIsAConflictAndTheFirstStands) {
  MakeGroup(2);
  auto first = UpdateLater(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE)));
  ASSERT_TRUE(AwaitVotes(1));
  const std::string before = State();
  EXPECT_THAT(Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_OVERFLOW))),
              IsError(Reason::kVoteConflict));
  EXPECT_EQ(State(), before);
  ASSERT_THAT(Update(UpdateOf("w1", 2, 1, VoteOf(v1::VERDICT_FINITE))), IsOk());
  ASSERT_THAT(first.get(), IsOk());
  EXPECT_THAT(Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_OVERFLOW))),
              IsError(Reason::kVoteConflict));
}

TEST_F(GroupRpc, DifferentCheckpointsKeepTheSessionClosed) {
  ASSERT_THAT(Create(Group(2, 2)), IsOk());
  const auto join = [this](const std::string& worker, double scale) {
    v1::JoinSessionRequest request = JoinRequest(worker);
    request.mutable_checkpoint()
        ->mutable_scaler()
        ->mutable_dynamic()
        ->set_scale(scale);
    return Join(request);
  };
  ASSERT_THAT(join("w0", 1024), IsOk());
  ASSERT_THAT(join("w1", 2048), IsOk());
  EXPECT_EQ(joined_.membership().phase(), v1::GROUP_PHASE_CHECKPOINT_MISMATCH);
  EXPECT_THAT(wire::StatusFromProto(joined_.membership().closed()),
              IsError(Reason::kCheckpointMismatch));
  EXPECT_THAT(Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE))),
              IsError(Reason::kCheckpointMismatch));
  Participant w1(stub_.get());
  w1.Open("run", "w1", 2);
  EXPECT_EQ(w1.Read().opened().phase(), v1::GROUP_PHASE_CHECKPOINT_MISMATCH);
  v1::ParticipateRequest present;
  present.mutable_heartbeat()->set_sequence(5);
  present.mutable_heartbeat()
      ->mutable_checkpoint()
      ->mutable_scaler()
      ->mutable_static_()
      ->set_scale(8);
  w1.Send(present);
  const v1::HeartbeatAnswer refused = w1.Read().heartbeat();
  EXPECT_EQ(refused.sequence(), 5);
  EXPECT_THAT(wire::StatusFromProto(refused.error()),
              IsError(Reason::kConfigMismatch));
  present.mutable_heartbeat()
      ->mutable_checkpoint()
      ->mutable_scaler()
      ->mutable_dynamic()
      ->set_scale(1024);
  w1.Send(present);
  ASSERT_TRUE(Await([this] { return Get().phase() == v1::GROUP_PHASE_OPEN; }));
  EXPECT_EQ(Get().current().scale(), 1024);
}

TEST_F(GroupRpc, WhoJoinsDuringAStepIsPendingAndThenActive) {
  ASSERT_THAT(Create(Group(1, 2)), IsOk());
  MustJoin("w0");
  MustJoin("w1");
  EXPECT_EQ(joined_.membership().state(), v1::WORKER_STATE_PENDING);
  Participant w1(stub_.get());
  w1.Open("run", "w1", 2);
  EXPECT_EQ(w1.Read().opened().state(), v1::WORKER_STATE_PENDING);
  w1.Vote(1, 1, VoteOf(v1::VERDICT_FINITE));
  EXPECT_THAT(ErrorOf(w1.ReadVote()), IsError(Reason::kNotActive));
  ASSERT_THAT(Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE))), IsOk());
  const v1::ParticipateResponse news = w1.Read();
  EXPECT_EQ(news.changed().state(), v1::WORKER_STATE_ACTIVE);
  EXPECT_EQ(news.changed().current().step(), 2);
  // Its parameters lack step 1.
  w1.Vote(2, 2, VoteOf(v1::VERDICT_FINITE));
  EXPECT_THAT(ErrorOf(w1.ReadVote()), IsError(Reason::kResync));
  w1.Vote(3, 2, VoteOf(v1::VERDICT_OVERFLOW, 65536, 1));
  EXPECT_EQ(w1.ReadVote().decision().outcome(), v1::OUTCOME_SKIP_OVERFLOW);
}

TEST_F(GroupRpc, APausedSessionTellsWaitingVotesWhenItResumes) {
  ASSERT_THAT(Create(Group(2, 2)), IsOk());
  MustJoin("w0");
  Participant worker(stub_.get());
  worker.Open("run", "w0", 1);
  EXPECT_EQ(worker.Read().opened().phase(), v1::GROUP_PHASE_PAUSED);
  worker.Vote(1, 1, VoteOf(v1::VERDICT_FINITE));
  // Answered, so that the vote before it waits.
  worker.Beat(2);
  ASSERT_EQ(worker.Read().heartbeat().sequence(), 2);
  EXPECT_FALSE(Get().workers(0).has_vote());
  MustJoin("w1");
  const v1::VoteAnswer told = worker.ReadVote();
  EXPECT_EQ(told.sequence(), 1);
  EXPECT_THAT(ErrorOf(told), IsError(Reason::kSessionPaused));
  EXPECT_TRUE(RetryDelayOf(ErrorOf(told)));
}

TEST_F(GroupRpc, ATakeoverNeedsTheTokenAndFencesTheOldOne) {
  ASSERT_THAT(Create(Group(2, 2)), IsOk());
  MustJoin("w0");
  const std::string token = joined_.resume_token();
  MustJoin("w1");
  Participant old(stub_.get());
  old.Open("run", "w0", 1);
  ASSERT_TRUE(old.Read().has_opened());
  v1::JoinSessionRequest successor = JoinRequest("w0");
  successor.set_request_id("successor");
  successor.set_resume_token(token);
  ASSERT_THAT(Join(successor), IsOk());
  EXPECT_EQ(joined_.incarnation(), 3);
  EXPECT_NE(joined_.resume_token(), token);
  EXPECT_THAT(old.Finish(), IsError(Reason::kFenced));
  EXPECT_THAT(Update(UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE))),
              IsError(Reason::kFenced));
  EXPECT_THAT(Leave("w0", 1), IsError(Reason::kFenced));
}

TEST_F(GroupRpc, AnotherStreamOfTheWorkerEndsTheFirst) {
  MakeGroup(2);
  Participant first(stub_.get());
  first.Open("run", "w0", 1);
  ASSERT_TRUE(first.Read().has_opened());
  first.Vote(1, 1, VoteOf(v1::VERDICT_FINITE));
  ASSERT_TRUE(AwaitVotes(1));
  Participant second(stub_.get());
  second.Open("run", "w0", 1);
  ASSERT_TRUE(second.Read().has_opened());
  EXPECT_THAT(first.Finish(), HasCode(absl::StatusCode::kCancelled));
  second.Vote(2, 1, VoteOf(v1::VERDICT_FINITE));
  ASSERT_THAT(Update(UpdateOf("w1", 2, 1, VoteOf(v1::VERDICT_FINITE))), IsOk());
  EXPECT_EQ(second.ReadVote().decision().outcome(), v1::OUTCOME_APPLY);
}

TEST_F(GroupRpc, HeartbeatsAreEchoed) {
  MakeGroup(1);
  Participant worker(stub_.get());
  worker.Open("run", "w0", 1);
  ASSERT_TRUE(worker.Read().has_opened());
  worker.Beat(77);
  const v1::ParticipateResponse answer = worker.Read();
  EXPECT_EQ(answer.heartbeat().sequence(), 77);
  EXPECT_EQ(answer.heartbeat().membership().state(), v1::WORKER_STATE_ACTIVE);
  EXPECT_FALSE(answer.heartbeat().has_error());
  worker.HalfClose();
  EXPECT_THAT(worker.Finish(), IsOk());
}

TEST_F(GroupRpc, StreamsThatDoNotFollowTheOrderEnd) {
  MakeGroup(1);
  v1::CreateSessionRequest solo;
  solo.set_session("solo");
  solo.mutable_scaler()->mutable_none();
  const std::string uid = uid_;
  ASSERT_THAT(Create(solo), IsOk());
  uid_ = uid;
  const std::string before = State();
  const auto end_of = [this](const std::function<void(Participant*)>& act) {
    Participant worker(stub_.get());
    act(&worker);
    return worker.Finish();
  };
  EXPECT_THAT(end_of([](auto* w) { w->Send({}); }),
              IsError(Reason::kEmptyMessage));
  EXPECT_THAT(end_of([](auto* w) { w->Beat(1); }),
              IsError(Reason::kChunkBeforeOpen));
  EXPECT_THAT(end_of([](auto* w) { w->HalfClose(); }),
              IsError(Reason::kChunkBeforeOpen));
  EXPECT_THAT(end_of([](auto* w) {
                w->Open("run", "w0", 1);
                w->Open("run", "w0", 1);
              }),
              IsError(Reason::kOpenedTwice));
  EXPECT_THAT(end_of([](auto* w) { w->Open("run", "a\nb", 1); }),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(end_of([](auto* w) { w->Open("run", "w0", 0); }),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(end_of([](auto* w) { w->Open("run", "w0", 2); }),
              IsError(Reason::kFenced));
  EXPECT_THAT(end_of([](auto* w) { w->Open("solo", "w0", 1); }),
              IsError(Reason::kWrongKind));
  EXPECT_THAT(end_of([](auto* w) { w->Open("none", "w0", 1); }),
              IsError(Reason::kSessionNotFound));
  EXPECT_EQ(State(), before);
  EXPECT_TRUE(Await([this] { return server_.gate().open() == 0; }));
}

TEST_F(GroupRpc, ASoloSessionHasNoWorkersAndNoParts) {
  v1::CreateSessionRequest solo;
  solo.set_session("run");
  solo.mutable_scaler()->mutable_none();
  ASSERT_THAT(Create(solo), IsOk());
  EXPECT_THAT(Join(JoinRequest("w0")), IsError(Reason::kWrongKind));
  EXPECT_THAT(Leave("w0", 1), IsError(Reason::kWrongKind));
  v1::UpdateRequest update;
  update.set_session("run");
  update.set_step(1);
  update.set_verdict(v1::VERDICT_FINITE);
  v1::UpdateRequest named = update;
  named.set_worker("w0");
  named.set_incarnation(1);
  EXPECT_THAT(Update(named), IsError(Reason::kWrongKind));
  v1::UpdateRequest parted = update;
  parted.add_parts()->set_name("encoder");
  parted.mutable_parts(0)->set_verdict(v1::VERDICT_FINITE);
  EXPECT_THAT(Update(parted), IsError(Reason::kWrongKind));
  EXPECT_EQ(Get().current().step(), 1);
}

TEST_F(GroupRpc, CancelledOrTimedOutTheVoteStaysAndTheCallIsFreed) {
  MakeGroup(2);
  const v1::UpdateRequest request =
      UpdateOf("w0", 1, 1, VoteOf(v1::VERDICT_FINITE));
  v1::UpdateResponse response;
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(100));
    EXPECT_THAT(ToAbsl(stub_->Update(&context, request, &response)),
                HasCode(absl::StatusCode::kDeadlineExceeded));
  }
  EXPECT_TRUE(Await([this] { return server_.gate().open() == 0; }));
  {
    grpc::ClientContext context;
    std::thread call([&] {
      EXPECT_THAT(ToAbsl(stub_->Update(&context, request, &response)),
                  HasCode(absl::StatusCode::kCancelled));
    });
    EXPECT_TRUE(AwaitVotes(1));
    context.TryCancel();
    call.join();
  }
  EXPECT_TRUE(Await([this] { return server_.gate().open() == 0; }));
  EXPECT_TRUE(Get().workers(0).has_vote());
  const auto other = Update(UpdateOf("w1", 2, 1, VoteOf(v1::VERDICT_FINITE)));
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(Get().last_decision().votes_size(), 2);
  const auto again = Update(request);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->decision().SerializeAsString(),
            other->decision().SerializeAsString());
}

TEST_F(GroupRpcOfFewCalls, LiveWorkersTakeNoPlaceFromOtherCalls) {
  MakeGroup(10);
  std::vector<std::unique_ptr<Participant>> workers;
  for (int i = 0; i < 10; ++i) {
    workers.push_back(std::make_unique<Participant>(stub_.get()));
    workers.back()->Open("run", absl::StrCat("w", i), i + 1);
    ASSERT_TRUE(workers.back()->Read().has_opened()) << i;
  }
  EXPECT_TRUE(Await([this] { return server_.gate().open() == 10; }));
  for (auto& worker : workers) worker->Cancel();
  workers.clear();
  EXPECT_TRUE(Await([this] { return server_.gate().open() == 0; }));
}

TEST_F(GroupRpc, ScalesAndUnscalesForAStepOfAWorker) {
  MakeGroup(1);
  v1::ScaleLossRequest loss;
  loss.set_session("run");
  loss.add_losses(0.5);
  v1::ScaleLossResponse scaled;
  EXPECT_THAT(Call(&Stub::ScaleLoss, loss, &scaled),
              IsError(Reason::kStepRequired));
  loss.set_step(1);
  ASSERT_THAT(Call(&Stub::ScaleLoss, loss, &scaled), IsOk());
  EXPECT_THAT(scaled.scaled_losses(), ElementsAre(32768));

  v1::UnscaleOpen open = UnscaleDialog::OpenFor("s1", 2);
  const auto run = [&] {
    UnscaleDialog call(stub_.get());
    call.Open(open);
    call.Chunk(0, 0, ::lossscaler::testing::BytesOf<float>({65536, 131072}));
    call.HalfClose();
    return call.Finish();
  };
  EXPECT_THAT(run(), IsError(Reason::kStepRequired));
  open.set_step(1);
  EXPECT_THAT(run(), IsError(Reason::kFenced));
  open.set_worker("w0");
  open.set_incarnation(7);
  EXPECT_THAT(run(), IsError(Reason::kFenced));
  open.set_incarnation(1);
  EXPECT_THAT(run(), IsOk());
  v1::Vote vote = VoteOf(v1::VERDICT_UNSPECIFIED);
  vote.add_stream_ids("s1");
  const auto answer = Update(UpdateOf("w0", 1, 1, vote));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->decision().outcome(), v1::OUTCOME_APPLY);
  EXPECT_EQ(Get().last_decision().votes(0).resolved(), v1::VERDICT_FINITE);
}

TEST_F(GroupRpc, AWatchResumesWhereItWasCut) {
  MakeGroup(1);
  Decide(1, 3);
  {
    Watch watch(stub_.get(), 1);
    EXPECT_EQ(watch.Next().step(), 1);
    EXPECT_EQ(watch.Next().step(), 2);
  }
  ASSERT_TRUE(Await([this] { return server_.gate().open() == 0; }));
  Watch watch(stub_.get(), 3);
  EXPECT_EQ(watch.Next().step(), 3);
  Decide(4, 4);
  EXPECT_EQ(watch.Next().step(), 4);
  EXPECT_THAT(Watch(stub_.get(), 6).Finish(), IsError(Reason::kStepAhead));
  EXPECT_THAT(Watch(stub_.get(), -1).Finish(), IsError(Reason::kInvalidField));
  v1::DeleteSessionRequest remove;
  remove.set_session("run");
  v1::DeleteSessionResponse removed;
  ASSERT_THAT(Call(&Stub::DeleteSession, remove, &removed), IsOk());
  EXPECT_THAT(watch.Finish(), IsError(Reason::kSessionNotFound));
}

TEST_F(GroupRpc, AFloodOfWatchersIsRefusedAndHurtsNobody) {
  MakeGroup(1);
  Decide(1, 1);
  auto a = std::make_unique<Watch>(stub_.get(), 1);
  Watch b(stub_.get(), 1);
  EXPECT_EQ(a->Next().step(), 1);
  EXPECT_EQ(b.Next().step(), 1);
  const absl::Status refused = Watch(stub_.get(), 1).Finish();
  EXPECT_THAT(refused, IsError(Reason::kTooManyStreams));
  EXPECT_TRUE(RetryDelayOf(refused));
  EXPECT_EQ(MetadataOf(refused)["limit"], "2");
  Decide(2, 2);
  EXPECT_EQ(b.Next().step(), 2);
  a.reset();
  EXPECT_TRUE(Await([this] { return server_.gate().open() == 1; }));
  EXPECT_EQ(Watch(stub_.get(), 2).Next().step(), 2);
}

TEST_F(GroupRpc, ListsDecisionsInPagesAndByIteration) {
  MakeGroup(1);
  Decide(1, 7, /*iterations=*/true);
  v1::ListDecisionsRequest request;
  request.set_session("run");
  request.set_page_size(3);
  v1::ListDecisionsResponse page;
  const auto steps = [&] {
    EXPECT_THAT(Call(&Stub::ListDecisions, request, &page), IsOk());
    std::vector<std::int64_t> found;
    for (const v1::Decision& decision : page.decisions()) {
      found.push_back(decision.step());
    }
    request.set_page_token(page.next_page_token());
    return found;
  };
  EXPECT_THAT(steps(), ElementsAre(7, 6, 5));
  EXPECT_THAT(steps(), ElementsAre(4, 3, 2));
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_EQ(page.next_page_token(), "");
  request.set_iteration(2);
  EXPECT_THAT(steps(), ElementsAre(5, 4));
  request.clear_iteration();
  request.set_step(6);
  EXPECT_THAT(steps(), ElementsAre(6));
  request.set_step(8);
  EXPECT_THAT(steps(), ElementsAre());

  using Edit = std::function<void(v1::ListDecisionsRequest*)>;
  for (const Edit& edit : std::vector<Edit>{
           [](auto* r) { r->set_page_size(-1); },
           [](auto* r) { r->set_page_size(1001); },
           [](auto* r) { r->set_page_token("x"); },
           [](auto* r) { r->set_page_token("0"); },
           [](auto* r) { r->set_step(0); },
           [](auto* r) { r->set_iteration(-1); },
       }) {
    v1::ListDecisionsRequest bad;
    bad.set_session("run");
    edit(&bad);
    EXPECT_THAT(Call(&Stub::ListDecisions, bad, &page),
                IsError(Reason::kInvalidField));
  }
}

TEST_F(GroupRpc, ADrainAnswersEveryoneWhoWaits) {
  MakeGroup(3);
  Watch watch(stub_.get(), 0);
  Participant worker(stub_.get());
  worker.Open("run", "w0", 1);
  ASSERT_TRUE(worker.Read().has_opened());
  worker.Vote(9, 1, VoteOf(v1::VERDICT_FINITE));
  auto waiting = UpdateLater(UpdateOf("w1", 2, 1, VoteOf(v1::VERDICT_FINITE)));
  ASSERT_TRUE(AwaitVotes(2));
  ASSERT_TRUE(Await([this] { return server_.gate().open() == 3; }));
  Drain();
  const auto told = waiting.get();
  EXPECT_THAT(told, IsError(Reason::kDraining));
  EXPECT_TRUE(RetryDelayOf(told.status()));
  const v1::VoteAnswer answer = worker.ReadVote();
  EXPECT_EQ(answer.sequence(), 9);
  EXPECT_THAT(ErrorOf(answer), IsError(Reason::kDraining));
  EXPECT_TRUE(RetryDelayOf(ErrorOf(answer)));
  EXPECT_THAT(worker.Finish(), IsError(Reason::kDraining));
  EXPECT_THAT(watch.Finish(), IsError(Reason::kDraining));
  EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  EXPECT_THAT(Update(UpdateOf("w1", 2, 1, VoteOf(v1::VERDICT_FINITE))),
              IsError(Reason::kDraining));
}

TEST_F(GroupRpc, ADrainEndsStreamsThatHaveSaidNothing) {
  MakeGroup(3);
  Participant silent(stub_.get());
  ASSERT_TRUE(Await([this] { return server_.gate().open() == 1; }));
  Drain();
  EXPECT_THAT(silent.Finish(), IsError(Reason::kDraining));
  EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
}

TEST_F(GroupRpc, TheServerSaysThatItKnowsGroups) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(Call(&Stub::GetServerInfo, v1::GetServerInfoRequest(), &info),
              IsOk());
  EXPECT_THAT(info.features(), ElementsAre("group"));
}

}  // namespace
}  // namespace lossscaler
