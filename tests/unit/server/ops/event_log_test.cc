// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/event_log.h"

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/loss_scaler.h"
#include "nlohmann/json.hpp"
#include "ops/limited_log.h"

namespace lossscaler::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using OrderedJson = nlohmann::ordered_json;

struct GivenCall : CallRecord {
  Method method() const override { return method_; }
  const absl::Status& status() const override { return status_; }
  absl::Duration took() const override { return took_; }
  const Caller* caller() const override {
    return caller_ ? &*caller_ : nullptr;
  }
  std::string_view session() const override { return session_; }
  std::string_view worker() const override { return worker_; }
  std::optional<std::int64_t> step() const override { return step_; }
  std::string peer() const override {
    ++asked_;
    return "ipv4:127.0.0.1:7";
  }
  std::string call_id() const override { return call_id_; }

  Method method_ = Method::kUpdate;
  absl::Status status_;
  absl::Duration took_ = absl::Microseconds(1500);
  std::optional<Caller> caller_;
  std::string session_ = "a/b";
  std::string worker_;
  std::optional<std::int64_t> step_;
  std::string call_id_;
  mutable int asked_ = 0;
};

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() { ConfigureLog(LogFormat::kJson, LogLevel::kDebug); }
  ~EventLogTest() override { ConfigureLog(LogFormat::kText, LogLevel::kInfo); }

  // What is written for it.
  template <typename Event>
  std::vector<OrderedJson> Lines(const Event& event) {
    ::testing::internal::CaptureStderr();
    if constexpr (std::is_base_of_v<CallRecord, Event>) {
      log_.OnCallEnd(event);
    } else {
      log_.OnChange(event);
    }
    std::istringstream written(::testing::internal::GetCapturedStderr());
    std::vector<OrderedJson> lines;
    for (std::string line; std::getline(written, line);) {
      lines.push_back(OrderedJson::parse(line));
      lines.back().erase("time");
    }
    return lines;
  }

  static std::vector<std::string> EventsOf(
      const std::vector<OrderedJson>& lines) {
    std::vector<std::string> events;
    for (const OrderedJson& line : lines) events.push_back(line["event"]);
    return events;
  }

  static SessionState Solo() {
    SessionState state;
    state.name = "a/b";
    state.uid = "uid-1";
    state.scaler = state.config = *LossScaler::Static(8);
    state.step = 5;
    return state;
  }

  static SessionState Group(bool open, std::vector<std::string> workers) {
    SessionState state = Solo();
    state.epoch = 3;
    state.group.emplace();
    state.group->config.min_workers = 2;
    state.group->config.max_workers = 4;
    state.group->open = open;
    std::int64_t incarnation = 0;
    for (std::string& worker : workers) {
      state.group->members.push_back({.worker = std::move(worker),
                                      .incarnation = ++incarnation,
                                      .resume_token = "secret-token",
                                      .state = MemberState::kActive});
    }
    return state;
  }

  static Decision SkipFor(std::vector<std::string> overflowed) {
    Decision decision;
    decision.step = 4;
    decision.epoch_after = 3;
    decision.outcome = Outcome::kSkipOverflow;
    decision.reason = DecisionReason::kOverflow;
    decision.explanation = "because";
    decision.scale_before = 16;
    decision.scale_after = 8;
    decision.overflow = true;
    decision.votes.push_back({.worker = "fine", .resolved = Verdict::kFinite});
    for (std::string& worker : overflowed) {
      decision.votes.push_back(
          {.worker = std::move(worker), .resolved = Verdict::kOverflow});
    }
    return decision;
  }

  EventLog log_;
};

TEST_F(EventLogTest, ACallHasEverythingThatIsKnownOfIt) {
  GivenCall call;
  call.caller_ = Caller{.name = "trainers"};
  call.worker_ = "w\n1";
  call.step_ = 7;
  call.call_id_ = "id-1";
  call.status_ = MakeError(Reason::kVoteConflict, "no");
  EXPECT_THAT(
      Lines(call),
      ElementsAre(OrderedJson::parse(
          R"({"level":"info","event":"call_failed","method":"Update",)"
          R"("code":"FAILED_PRECONDITION","reason":"VOTE_CONFLICT",)"
          R"("session":"a/b","worker":"w\n1","step":7,"caller":"trainers",)"
          R"("peer":"ipv4:127.0.0.1:7","call_id":"id-1","took":0.0015,)"
          R"("error":"no"})")));
}

TEST_F(EventLogTest, ACallThatWentWellIsForDebugging) {
  EXPECT_THAT(Lines(GivenCall()),
              ElementsAre(OrderedJson::parse(
                  R"({"level":"debug","event":"call","method":"Update",)"
                  R"("code":"OK","session":"a/b",)"
                  R"("peer":"ipv4:127.0.0.1:7","took":0.0015})")));
}

TEST_F(EventLogTest, WhoDeletesOrRestoresIsNoSecret) {
  ConfigureLog(LogFormat::kJson, LogLevel::kInfo);
  for (const Method method : kAllMethods) {
    GivenCall call;
    call.method_ = method;
    const bool told =
        method == Method::kDeleteSession || method == Method::kRestoreSession;
    EXPECT_EQ(Lines(call).size(), told ? 1u : 0u) << MethodName(method);
  }
}

TEST_F(EventLogTest, NothingIsAskedOfACallThatIsNotWritten) {
  ConfigureLog(LogFormat::kJson, LogLevel::kInfo);
  const GivenCall call;
  EXPECT_THAT(Lines(call), IsEmpty());
  EXPECT_EQ(call.asked_, 0);
}

TEST_F(EventLogTest, TextFromOutsideIsCutToWhatIsAllowed) {
  GivenCall call;
  call.status_ = MakeError(Reason::kInvalidSessionName, std::string(5000, 'm'));
  call.session_ = std::string(4'000'000, 's');
  call.worker_ = std::string(1000, 'w');
  call.call_id_ = std::string(1000, 'i');
  const std::vector<OrderedJson> lines = Lines(call);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["session"], std::string(200, 's'));
  EXPECT_EQ(lines[0]["worker"], std::string(64, 'w'));
  EXPECT_EQ(lines[0]["call_id"], std::string(128, 'i'));
  EXPECT_EQ(lines[0]["error"], std::string(1000, 'm'));
}

TEST(LevelOfFailure, IsByWhoHasToDoSomething) {
  const auto level = [](Reason reason) {
    return LevelOfFailure(MakeError(reason, "x"));
  };
  for (const Reason reason :
       {Reason::kTokenRequired, Reason::kTokenUnknown, Reason::kNotAllowed,
        Reason::kTooManySessions, Reason::kTooManyCalls, Reason::kTooManyBytes,
        Reason::kTooManyWorkers, Reason::kStoreUnavailable}) {
    EXPECT_EQ(level(reason), LogLevel::kWarning) << ReasonName(reason);
  }
  for (const Reason reason :
       {Reason::kInvalidField, Reason::kSessionNotFound, Reason::kSessionExists,
        Reason::kVoteConflict, Reason::kResync, Reason::kStreamIdle}) {
    EXPECT_EQ(level(reason), LogLevel::kInfo) << ReasonName(reason);
  }
  for (const Reason reason :
       {Reason::kStepAhead, Reason::kStepForgotten, Reason::kSessionPaused,
        Reason::kFenced, Reason::kWorkerHeld, Reason::kDraining}) {
    EXPECT_EQ(level(reason), LogLevel::kDebug) << ReasonName(reason);
  }
  EXPECT_EQ(LevelOfFailure(absl::CancelledError("")), LogLevel::kDebug);
  EXPECT_EQ(LevelOfFailure(absl::InternalError("")), LogLevel::kError);
  EXPECT_EQ(LevelOfFailure(absl::UnknownError("")), LogLevel::kError);
}

TEST_F(EventLogTest, WhatWasInTheStoreIsNoNews) {
  const SessionState state = Group(true, {"a", "b"});
  const SessionChange change{
      .cause = Cause::kLoad,
      .after = &state,
      .workers = {{.kind = WorkerChange::Kind::kExpired, .worker = "c"}}};
  EXPECT_THAT(Lines(change), IsEmpty());
}

TEST_F(EventLogTest, ASessionComesAndGoes) {
  const SessionState state = Solo();
  EXPECT_THAT(
      Lines(SessionChange{.cause = Cause::kCreate, .after = &state}),
      ElementsAre(OrderedJson::parse(
          R"({"level":"info","event":"session_created","session":"a/b",)"
          R"("uid":"uid-1","kind":"solo","scale":8.0})")));
  SessionState group = Group(false, {"a", "b", "c"});
  group.group->members[2].state = MemberState::kLeft;
  EXPECT_THAT(
      Lines(SessionChange{.cause = Cause::kDelete, .before = &group}),
      ElementsAre(OrderedJson::parse(
          R"({"level":"info","event":"session_deleted","session":"a/b",)"
          R"("uid":"uid-1","step":5,"workers":2})")));
}

TEST_F(EventLogTest, AStepThatIsAppliedIsForDebugging) {
  const SessionState state = Solo();
  Decision decision;
  decision.step = 4;
  decision.scale_before = decision.scale_after = 8;
  decision.explanation = "fine";
  const SessionChange change{
      .before = &state, .after = &state, .decision = &decision};
  EXPECT_THAT(
      Lines(change),
      ElementsAre(OrderedJson::parse(
          R"({"level":"debug","event":"decision","session":"a/b","step":4,)"
          R"("epoch":1,"outcome":"APPLY","reason":"FINITE",)"
          R"("scale_before":8.0,"scale_after":8.0,"explanation":"fine"})")));
}

TEST_F(EventLogTest, ASkippedStepSaysWhoCausedIt) {
  const SessionState state = Group(true, {"fine", "a", "b"});
  Decision decision = SkipFor({"a", "b"});
  decision.lost = {"x"};
  decision.evicted = {"y", "z"};
  const SessionChange change{.cause = Cause::kDue,
                             .before = &state,
                             .after = &state,
                             .decision = &decision};
  EXPECT_THAT(
      Lines(change),
      ElementsAre(OrderedJson::parse(
          R"({"level":"info","event":"decision","session":"a/b","step":4,)"
          R"("epoch":3,"outcome":"SKIP_OVERFLOW","reason":"OVERFLOW",)"
          R"("scale_before":16.0,"scale_after":8.0,"overflow":["a","b"],)"
          R"("lost":["x"],"evicted":["y","z"],"explanation":"because"})")));
}

TEST_F(EventLogTest, OfManyWorkersTheFirstAreNamedAndTheOthersCounted) {
  const SessionState state = Group(true, {});
  std::vector<std::string> workers;
  for (int i = 0; i < 4096; ++i) workers.push_back(absl::StrCat("w", i));
  const Decision decision = SkipFor(workers);
  const std::vector<OrderedJson> lines = Lines(
      SessionChange{.before = &state, .after = &state, .decision = &decision});
  ASSERT_EQ(lines.size(), 1u);
  workers.resize(8);
  EXPECT_EQ(lines[0]["overflow"], OrderedJson(workers));
  EXPECT_EQ(lines[0]["overflow_more"], 4088);
}

TEST_F(EventLogTest, ASoloSessionNamesNobody) {
  const SessionState state = Solo();
  Decision decision = SkipFor({""});
  decision.votes.erase(decision.votes.begin());
  const std::vector<OrderedJson> lines = Lines(
      SessionChange{.before = &state, .after = &state, .decision = &decision});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_FALSE(lines[0].contains("overflow"));
}

TEST_F(EventLogTest, ASessionThatGetsNowhereIsAWarning) {
  SessionState state = Solo();
  Decision decision = SkipFor({"a"});
  decision.floored = true;
  const SessionChange change{
      .before = &state, .after = &state, .decision = &decision};
  const std::vector<OrderedJson> floored = Lines(change);
  ASSERT_EQ(floored.size(), 1u);
  EXPECT_EQ(floored[0]["level"], "warning");
  EXPECT_EQ(floored[0]["floored"], true);
  EXPECT_THAT(std::string(floored[0]["degraded"]), HasSubstr("scale is 8"));

  decision.floored = false;
  state.consecutive_skips = 49;
  EXPECT_EQ(Lines(change)[0]["level"], "info");
  state.consecutive_skips = 50;
  const std::vector<OrderedJson> stuck = Lines(change);
  EXPECT_EQ(stuck[0]["level"], "warning");
  EXPECT_EQ(stuck[0]["degraded"], "50 steps in a row were skipped");
}

TEST_F(EventLogTest, ARestoreIsNotAnyDecision) {
  const SessionState state = Solo();
  Decision decision = SkipFor({});
  decision.outcome = Outcome::kAborted;
  decision.reason = DecisionReason::kRestored;
  EXPECT_THAT(
      Lines(SessionChange{.cause = Cause::kRestore,
                          .before = &state,
                          .after = &state,
                          .decision = &decision}),
      ElementsAre(OrderedJson::parse(
          R"({"level":"info","event":"session_restored","session":"a/b",)"
          R"("step":4,"epoch":3,"scale_before":16.0,"scale_after":8.0,)"
          R"("explanation":"because"})")));
}

TEST_F(EventLogTest, WorkersComeAndGoAroundTheDecisionInTheOrderOfCauses) {
  const SessionState before = Group(true, {"a", "b"});
  const SessionState after = Group(false, {"c"});
  const Decision decision = SkipFor({"a"});
  using Kind = WorkerChange::Kind;
  const SessionChange change{.cause = Cause::kDue,
                             .before = &before,
                             .after = &after,
                             .decision = &decision,
                             .workers = {{Kind::kExpired, "a", 1},
                                         {Kind::kEvicted, "b", 2},
                                         {Kind::kActivated, "c", 3},
                                         {Kind::kReplaced, "d", 4},
                                         {Kind::kLeft, "e", 5},
                                         {Kind::kJoined, "f", 6}}};
  const std::vector<OrderedJson> lines = Lines(change);
  EXPECT_THAT(EventsOf(lines),
              ElementsAre("worker_lost", "worker_lost", "worker_lost",
                          "worker_left", "decision", "worker_active",
                          "worker_joined", "session_paused"));
  EXPECT_EQ(lines[0],
            OrderedJson::parse(
                R"({"level":"warning","event":"worker_lost","session":"a/b",)"
                R"("step":5,"epoch":3,"worker":"a","incarnation":1,)"
                R"("reason":"expired"})"));
  EXPECT_EQ(lines[1]["reason"], "evicted");
  EXPECT_EQ(lines[2]["reason"], "replaced");
  EXPECT_EQ(lines[6],
            OrderedJson::parse(
                R"({"level":"info","event":"worker_joined","session":"a/b",)"
                R"("step":5,"epoch":3,"worker":"f","incarnation":6,)"
                R"("state":"pending"})"));
  EXPECT_EQ(lines[7],
            OrderedJson::parse(
                R"({"level":"info","event":"session_paused","session":"a/b",)"
                R"("step":5,"epoch":3,"reason":"PAUSED","workers":1,)"
                R"("min_workers":2})"));
}

TEST_F(EventLogTest, AWorkerThatIsActiveAtOnceIsOneLine) {
  using Kind = WorkerChange::Kind;
  const SessionState state = Group(false, {"a", "b", "c"});
  const std::vector<OrderedJson> lines =
      Lines(SessionChange{.cause = Cause::kJoin,
                          .before = &state,
                          .after = &state,
                          .workers = {{Kind::kActivated, "a", 1},
                                      {Kind::kJoined, "b", 2},
                                      {Kind::kActivated, "b", 2},
                                      {Kind::kJoined, "c", 3}}});
  ASSERT_THAT(EventsOf(lines),
              ElementsAre("worker_active", "worker_joined", "worker_joined"));
  EXPECT_FALSE(lines[0].contains("state"));
  EXPECT_EQ(lines[1]["state"], "active");
  EXPECT_EQ(lines[2]["state"], "pending");
}

TEST_F(EventLogTest, AGroupOpensAndPausesAndIsKeptShutByCheckpoints) {
  const SessionState shut = Group(false, {"a"});
  const SessionState open = Group(true, {"a", "b"});
  SessionState differ = Group(false, {"a", "b"});
  differ.group->members[0].checkpoint = {.scaler = *LossScaler::Static(2)};
  differ.group->members[1].checkpoint = {.scaler = *LossScaler::Static(4)};
  const auto lines = [this](const SessionState& before,
                            const SessionState& after) {
    return Lines(SessionChange{
        .cause = Cause::kJoin, .before = &before, .after = &after});
  };
  EXPECT_THAT(lines(shut, open),
              ElementsAre(OrderedJson::parse(
                  R"({"level":"info","event":"session_opened","session":"a/b",)"
                  R"("step":5,"epoch":3,"workers":2,"min_workers":2})")));
  EXPECT_THAT(EventsOf(lines(open, shut)), ElementsAre("session_paused"));
  EXPECT_THAT(lines(open, open), IsEmpty());
  EXPECT_THAT(lines(Group(false, {}), shut), IsEmpty());
  const std::vector<OrderedJson> differs = lines(shut, differ);
  ASSERT_EQ(differs.size(), 1u);
  EXPECT_EQ(differs[0]["event"], "session_paused");
  EXPECT_EQ(differs[0]["level"], "warning");
  EXPECT_EQ(differs[0]["reason"], "CHECKPOINT_MISMATCH");
}

TEST_F(EventLogTest, NoResumeTokenIsWritten) {
  const SessionState before = Group(false, {"a"});
  const SessionState after = Group(true, {"a", "b"});
  const Decision decision = SkipFor({"a"});
  for (const OrderedJson& line :
       Lines(SessionChange{.cause = Cause::kJoin,
       .before = &before,
       .after = &after,
       .decision = &decision,
       .workers = {{WorkerChange::Kind::kJoined, "b", 2}}})) {
    EXPECT_THAT(line.dump(), Not(HasSubstr("secret-token")));
  }
}

TEST_F(EventLogTest, AFloodIsCountedInsteadOfWritten) {
  GivenCall call;
  call.status_ = MakeError(Reason::kInvalidField, "x");
  std::int64_t written = 0;
  std::int64_t told = 0;
  const auto count = [&](const std::vector<OrderedJson>& lines) {
    for (const OrderedJson& line : lines) {
      if (line["event"] == "call_failed") ++written;
      if (line["event"] != "log_suppressed") continue;
      EXPECT_EQ(line["suppressed"], "call_failed");
      EXPECT_EQ(line["level"], "info");
      EXPECT_TRUE(line["since"].is_string());
      told += line["count"].get<std::int64_t>();
    }
  };
  constexpr int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) count(Lines(call));
  ::testing::internal::CaptureStderr();
  TellAllSuppressed();
  std::istringstream end(::testing::internal::GetCapturedStderr());
  std::vector<OrderedJson> last;
  for (std::string line; std::getline(end, line);) {
    last.push_back(OrderedJson::parse(line));
  }
  count(last);
  EXPECT_EQ(written + told, kCalls);
  EXPECT_GT(written, 0);
  EXPECT_LT(written, kCalls);
}

}  // namespace
}  // namespace lossscaler::server
