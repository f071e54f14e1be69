// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// workers, join and leave.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/worker_checkpoint.h"
#include "testing/ctl_fixture.h"
#include "testing/ctl_group.h"

namespace lossscaler::ctl {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::DoAll;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Return;
using ::testing::SaveArg;

class CtlWorkersTest : public CtlTest {
 protected:
  void Expect(const SessionInfo& info) {
    EXPECT_CALL(*connection_,
                GetSession(Field(&SessionRef::name, std::string("a"))))
        .WillRepeatedly(Return(info));
  }
  static JoinAnswer Answer() {
    return {.incarnation = 9,
            .resume_token = "token-9",
            .lease_ttl = absl::Seconds(30),
            .membership = {.state = MemberState::kPending,
                           .phase = GroupPhase::kOpen,
                           .current = {.step = 5,
                                       .scale = 1024,
                                       .base = 3,
                                       .base_session_uid = "",
                                       .epoch = 2},
                           .closed = absl::OkStatus()},
            .last_decision = std::nullopt,
            .session_uid = "uid-1"};
  }
  void ExpectJoin(const JoinAnswer& answer = Answer()) {
    EXPECT_CALL(*connection_, JoinSession(Field(&SessionRef::uid, "uid-1"), _))
        .WillOnce(DoAll(SaveArg<1>(&join_), Return(answer)));
  }

  JoinEvent join_;
};

TEST_F(CtlWorkersTest, ShowsWhoIsInAndWhatTheyHaveSaid) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w0", 1), Worker("w1", 2), Worker("w2", 3)};
  info.workers[0].vote = VoteOf("w0", 1, Verdict::kFinite);
  info.workers[0].lease_left = absl::Milliseconds(29870);
  info.workers[1].late_overflow = 4;
  info.workers[2].member.state = MemberState::kPending;
  info.last_decision = OverflowDecision();
  info.last_decision->step = 4;
  info.last_decision->votes = {VoteOf("w1", 2, Verdict::kOverflow)};
  Expect(info);
  EXPECT_EQ(Run({"workers", "a"}), kDone);
  EXPECT_EQ(
      out_.str(),
      "phase:    OPEN: 1 of 2 votes on step 5 are in\n"
      "attempt:  0\n"
      "step:     5\n"
      "scale:    16777216\n"
      "base:     3\n"
      "epoch:    2\n"
      "\n"
      "WORKER  INCARNATION  STATE    LEASE LEFT  LAST VOTE        CHECKPOINT  "
      "NOTE\n"
      "w0      1            ACTIVE   29.8s       step 5 FINITE    -\n"
      "w1      2            ACTIVE   30s         step 4 OVERFLOW  -           "
      "found an overflow in step 4 too late\n"
      "w2      3            PENDING  30s         -                -\n");
}

TEST_F(CtlWorkersTest, AVoteOfAFormerIncarnationIsNotThisWorkers) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w0", 7)};
  info.last_decision = OverflowDecision();
  info.last_decision->votes = {VoteOf("w0", 1, Verdict::kOverflow)};
  Expect(info);
  EXPECT_EQ(Run({"workers", "a"}), kDone);
  EXPECT_EQ(out_.str().find("step 5 OVERFLOW"), std::string::npos);
}

TEST_F(CtlWorkersTest, SaysWhyNoVoteIsTaken) {
  SessionInfo info = Group(Info("a"));
  info.group->min_workers = 2;
  info.workers = {Worker("w0", 1), Worker("w1", 2)};
  info.workers[1].member.state = MemberState::kLost;
  const std::pair<GroupPhase, const char*> phases[] = {
      {GroupPhase::kIdle, "IDLE: no worker is in\n"},
      {GroupPhase::kPaused, "PAUSED: 1 of at least 2 workers are in\n"},
      {GroupPhase::kCheckpointMismatch, "have loaded different checkpoints"},
      {GroupPhase::kRestoreRequired, "restore it"}};
  for (const auto& [phase, text] : phases) {
    info.phase = phase;
    Expect(info);
    EXPECT_EQ(Run({"workers", "a"}), kDone);
    EXPECT_THAT(out_.str(), HasSubstr(text));
  }
}

TEST_F(CtlWorkersTest, ShowsThePresentedCheckpoints) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w0", 1), Worker("w1", 2)};
  info.workers[0].member.checkpoint =
      Checkpoint{.scaler = *LossScaler::Static(512),
                 .base = {.session_uid = "old", .step = 41},
                 .iteration = 42};
  info.workers[1].member.checkpoint =
      Checkpoint{.scaler = *LossScaler::Static(1024)};
  Expect(info);
  EXPECT_EQ(Run({"workers", "a"}), kDone);
  EXPECT_THAT(out_.str(),
              HasSubstr("scale 512, base 41 of session old, iteration 42\n"));
  EXPECT_THAT(out_.str(), HasSubstr("scale 1024, base 0\n"));
}

TEST_F(CtlWorkersTest, IsJsonForPrograms) {
  SessionInfo info = Group(Info("a"));
  info.attempt = 2;
  info.degraded = Degraded{.reason = "why", .workers = {"w0"}};
  info.workers = {Worker("w0", 1)};
  info.workers[0].vote = VoteOf("w0", 1, Verdict::kFinite);
  info.workers[0].member.checkpoint =
      Checkpoint{.scaler = *LossScaler::Static(512),
                 .base = {.session_uid = "old", .step = 41},
                 .iteration = 42};
  info.workers[0].late_overflow = 4;
  Expect(info);
  EXPECT_EQ(Run({"workers", "a", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json::parse(R"({
    "name": "a", "uid": "uid-1", "phase": "OPEN", "attempt": 2,
    "current": {"step": 5, "scale": 16777216.0, "base": 3, "epoch": 2},
    "degraded": {"reason": "why", "workers": ["w0"]},
    "workers": [{
      "worker": "w0", "incarnation": 1, "state": "ACTIVE",
      "lease_left_millis": 30000,
      "vote": {"worker": "w0", "incarnation": 1, "verdict": "FINITE",
               "resolved": "FINITE"},
      "checkpoint": {"scaler": {"Static": {"scale": 512.0}},
                     "base": {"step": 41, "session_uid": "old"},
                     "iteration": 42},
      "late_overflow": 4}]})"));
}

TEST_F(CtlWorkersTest, NoTextOfAWorkerCommandsTheTerminal) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w\x1b[2J\n0", 1)};
  info.degraded = Degraded{.reason = "a\rb", .workers = {}};
  Expect(info);
  EXPECT_EQ(Run({"workers", "a"}), kDone);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("w [2J 0"), HasSubstr("a b\n")));
  EXPECT_EQ(out_.str().find_first_of("\x1b\r"), std::string::npos);
}

TEST_F(CtlWorkersTest, ASoloSessionHasNone) {
  Expect(Info("a"));
  for (const auto& line : std::vector<std::vector<const char*>>{
           {"workers", "a"}, {"join", "a", "w0"}, {"leave", "a", "w0"}}) {
    EXPECT_EQ(Run(line), kRefused);
    EXPECT_THAT(err_.str(), HasSubstr("WRONG_KIND: "));
  }
}

TEST_F(CtlWorkersTest, AJoinShowsWhatAVoteNeeds) {
  Expect(Group(Info("a")));
  ExpectJoin();
  EXPECT_EQ(Run({"join", "a", "w0", "--attempt", "3", "--resume-token", "t",
                 "--request-id", "r"}),
            kDone);
  EXPECT_EQ(out_.str(),
            "worker:        w0\n"
            "incarnation:   9\n"
            "resume token:  token-9\n"
            "lease:         30s\n"
            "state:         PENDING\n"
            "phase:         OPEN\n"
            "step:          5\n"
            "scale:         1024\n"
            "base:          3\n"
            "epoch:         2\n");
  EXPECT_EQ(join_.worker, "w0");
  EXPECT_EQ(join_.attempt, 3);
  EXPECT_EQ(join_.resume_token, "t");
  EXPECT_EQ(join_.request_id, "r");
  EXPECT_EQ(join_.checkpoint, std::nullopt);
}

TEST_F(CtlWorkersTest, AJoinSaysWhyNoVoteIsTakenYet) {
  JoinAnswer answer = Answer();
  answer.membership.closed =
      MakeError(Reason::kSessionPaused, "wait\nfor the others");
  Expect(Group(Info("a")));
  ExpectJoin(answer);
  EXPECT_EQ(Run({"join", "a", "w0"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("no votes yet:  wait for the others\n"));
  ExpectJoin(answer);
  EXPECT_EQ(Run({"join", "a", "w0", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json::parse(R"({
    "worker": "w0", "incarnation": 9, "resume_token": "token-9",
    "lease_ttl_millis": 30000, "session_uid": "uid-1", "state": "PENDING",
    "phase": "OPEN",
    "current": {"step": 5, "scale": 1024.0, "base": 3, "epoch": 2},
    "closed": {"reason": "SESSION_PAUSED",
               "message": "wait\nfor the others"}})"));
}

TEST_F(CtlWorkersTest, AJoinPresentsTheCheckpointOfAWorker) {
  const Checkpoint saved = {.scaler = *LossScaler::Static(512),
                            .base = {.session_uid = "uid-1", .step = 3},
                            .iteration = 42};
  const std::string bytes = ToBytes({.checkpoint = saved, .attempt = 6});
  Expect(Group(Info("a")));
  ExpectJoin();
  in_.str(bytes);
  EXPECT_EQ(Run({"join", "a", "w0", "--checkpoint", "-"}), kDone);
  EXPECT_EQ(join_.checkpoint, saved);
  EXPECT_EQ(join_.attempt, 6);
  ExpectJoin();
  in_.clear();
  in_.str(bytes);
  EXPECT_EQ(Run({"join", "a", "w0", "--checkpoint", "-", "--attempt", "7"}),
            kDone);
  EXPECT_EQ(join_.attempt, 7);
}

TEST_F(CtlWorkersTest, AJoinFromTheStartPresentsTheInitialScaler) {
  SessionInfo info = Group(Info("a"));
  info.config = *LossScaler::Static(64);
  Expect(info);
  ExpectJoin();
  EXPECT_EQ(Run({"join", "a", "w0", "--from-the-start"}), kDone);
  EXPECT_EQ(join_.checkpoint, (Checkpoint{.scaler = *LossScaler::Static(64)}));
}

TEST_F(CtlWorkersTest, AJoinDoesNotGuessWhatAFileMeans) {
  Expect(Group(Info("a")));
  in_.str("{}");
  EXPECT_EQ(Run({"join", "a", "w0", "--checkpoint", "-"}), kWrongUsage);
  EXPECT_EQ(Run({"join", "a", "w0", "--checkpoint", "/no/such/file"}),
            kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("cannot read"));
  EXPECT_EQ(Run({"join", "a", "w0", "--checkpoint", "-", "--from-the-start"}),
            kWrongUsage);
}

TEST_F(CtlWorkersTest, ALeavingWorkerIsFoundByItsName) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w0", 1), Worker("w0", 4), Worker("w1", 3)};
  info.workers[0].member.state = MemberState::kLost;
  Expect(info);
  EXPECT_CALL(*connection_,
              LeaveSession(Field(&SessionRef::uid, "uid-1"),
                           AllOf(Field(&WorkerRef::worker, "w0"),
                                 Field(&WorkerRef::incarnation, 4))))
      .Times(2)
      .WillRepeatedly(Return(absl::OkStatus()));
  EXPECT_EQ(Run({"leave", "a", "w0"}), kDone);
  EXPECT_EQ(out_.str(), "w0 (incarnation 4) has left\n");
  EXPECT_EQ(Run({"leave", "a", "w0", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json({{"left", "w0"}, {"incarnation", 4}}));
}

TEST_F(CtlWorkersTest, ANamedIncarnationIsNeverReplacedByAnother) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w0", 4)};
  Expect(info);
  EXPECT_CALL(*connection_, LeaveSession(_, Field(&WorkerRef::incarnation, 1)))
      .WillOnce(Return(absl::OkStatus()));
  EXPECT_EQ(Run({"leave", "a", "w0", "--incarnation", "1"}), kDone);
}

TEST_F(CtlWorkersTest, AMisspeltWorkerDoesNotSeemToHaveLeft) {
  SessionInfo info = Group(Info("a"));
  info.workers = {Worker("w0", 1), Worker("w1", 2)};
  info.workers[1].member.state = MemberState::kLeft;
  Expect(info);
  EXPECT_EQ(Run({"leave", "a", "w\n9"}), kRefused);
  EXPECT_EQ(err_.str(),
            "lossscalerctl: NOT_FOUND: no worker \"w\\n9\" is in \"a\"; there "
            "are \"w0\"\n");
  EXPECT_EQ(Run({"leave", "a", "w1"}), kRefused);
}

}  // namespace
}  // namespace lossscaler::ctl
