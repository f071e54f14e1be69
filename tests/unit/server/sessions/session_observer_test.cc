// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/session_observer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "unit/server/sessions/group_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string_view CauseText(Cause cause) {
  switch (cause) {
    case Cause::kLoad:
      return "load";
    case Cause::kCreate:
      return "create";
    case Cause::kDelete:
      return "delete";
    case Cause::kVote:
      return "vote";
    case Cause::kRestore:
      return "restore";
    case Cause::kJoin:
      return "join";
    case Cause::kLeave:
      return "leave";
    case Cause::kPresent:
      return "present";
    case Cause::kDue:
      return "due";
  }
  return "";
}

// Writes down what it hears: "join 1->1: joined w0/1, activated w0/1".
class Diary : public SessionObserver {
 public:
  void OnChange(const SessionChange& change) override {
    const auto step = [](const SessionState* state) {
      return state == nullptr ? std::string("-") : absl::StrCat(state->step);
    };
    std::string line =
        absl::StrCat(std::string(CauseText(change.cause)), " ",
                     step(change.before), "->", step(change.after));
    if (change.decision != nullptr) {
      absl::StrAppend(&line, " ",
                      std::string(OutcomeName(change.decision->outcome)));
    }
    for (const WorkerChange& worker : change.workers) {
      absl::StrAppend(&line, ", ", std::string(WorkerChangeName(worker.kind)),
                      " ", worker.worker, "/", worker.incarnation);
    }
    lines_.push_back(line);
  }
  void OnVote() override { ++waiting_; }
  void OnVoteAnswered(absl::Duration waited, bool decided) override {
    --waiting_;
    answered_.emplace_back(waited, decided);
  }
  void OnUnscaled(std::int64_t /*bytes*/,
                  const UnscaleVerdict& /*verdict*/) override {}

  std::vector<std::string> Take() { return std::exchange(lines_, {}); }
  int waiting() const { return waiting_; }
  const std::vector<std::pair<absl::Duration, bool>>& answered() const {
    return answered_;
  }

 private:
  std::vector<std::string> lines_;
  int waiting_ = 0;
  std::vector<std::pair<absl::Duration, bool>> answered_;
};

class SessionObserverTest : public GroupFixture {
 protected:
  SessionObserverTest() {
    observers_ = {&diary_};
    Restart();
  }

  Diary diary_;
};

TEST_F(SessionObserverTest, HearsOfEveryChangeWithWhoCameAndWent) {
  Create(GroupOf(2));
  EXPECT_THAT(diary_.Take(), ElementsAre("create -->1"));
  const WorkerRef first = MustJoin("w0");
  EXPECT_THAT(diary_.Take(),
              ElementsAre("join 1->1, joined w0/1, activated w0/1"));
  const WorkerRef second = MustJoin("w1");
  // The session opens in a change of its own.
  EXPECT_THAT(
      diary_.Take(),
      ElementsAre("join 1->1, joined w1/2, activated w1/2", "due 1->1"));
  Decide({first, second});
  EXPECT_THAT(diary_.Take(), ElementsAre("due 1->2 APPLY"));
  EXPECT_THAT(Leave(second), IsOk());
  EXPECT_THAT(diary_.Take(), ElementsAre("leave 2->2, left w1/2"));
}

TEST_F(SessionObserverTest, TellsALeaseThatExpiredFromALeaver) {
  const std::vector<WorkerRef> all = Group(2);
  diary_.Take();
  // One lives.
  Pass(kTtl / 2);
  ASSERT_THAT(KeepAlive(all[0]), IsOk());
  Pass(kTtl / 2 + absl::Seconds(1));
  EXPECT_THAT(diary_.Take(), ElementsAre("due 1->2 SKIP, expired w1/2"));
}

TEST_F(SessionObserverTest, TellsATakeoverFromALoss) {
  Create(GroupOf(2));
  const absl::StatusOr<JoinAnswer> joined =
      Join({.worker = "w0", .request_id = "one"});
  ASSERT_THAT(joined, IsOk());
  diary_.Take();
  ASSERT_THAT(Join({.worker = "w0",
                    .request_id = "two",
                    .resume_token = joined->resume_token}),
              IsOk());
  EXPECT_THAT(diary_.Take(), ElementsAre("join 1->1, replaced w0/1, joined "
                                         "w0/2, activated w0/2"));
}

TEST_F(SessionObserverTest, HearsOfWhatWasWrittenAfterAllAndOfNothingElse) {
  const std::vector<WorkerRef> all = Group(1);
  diary_.Take();
  Answers answers;
  store_.FailNextWrite(Fault::kNotWritten);
  Cast(all[0], Verdict::kFinite, &answers);
  EXPECT_THAT(diary_.Take(), IsEmpty());
  Pass(kRetryDelay);
  EXPECT_THAT(diary_.Take(), ElementsAre("due 1->2 APPLY"));

  store_.FailNextWrite(Fault::kLostUnknown);
  Cast(all[0], Verdict::kFinite, &answers);
  EXPECT_THAT(diary_.Take(), IsEmpty());
}

TEST_F(SessionObserverTest, HearsOnceOfAWriteThatNobodyKnewOf) {
  const std::vector<WorkerRef> all = Group(1);
  diary_.Take();
  Answers answers;
  store_.FailNextWrite(Fault::kWrittenUnknown);
  store_.FailReads(true);
  Cast(all[0], Verdict::kFinite, &answers);
  EXPECT_THAT(diary_.Take(), IsEmpty());
  store_.FailReads(false);
  EXPECT_THAT(session_->Reread(), IsOk());
  EXPECT_THAT(diary_.Take(), ElementsAre("due 1->2 APPLY"));
  EXPECT_THAT(session_->Reread(), IsOk());
  EXPECT_THAT(diary_.Take(), IsEmpty());
}

TEST_F(SessionObserverTest, HearsOfWhatTheServerFoundAtItsStart) {
  Group(2);
  diary_.Take();
  Restart();
  EXPECT_THAT(diary_.Take(), ElementsAre("load -->1"));
}

TEST_F(SessionObserverTest, AVoteWaitsFromItsArrivalToItsAnswer) {
  const std::vector<WorkerRef> all = Group(2);
  Answers first;
  Cast(all[0], Verdict::kFinite, &first);
  EXPECT_EQ(diary_.waiting(), 1);
  Pass(absl::Seconds(3));
  Answers second;
  Cast(all[1], Verdict::kFinite, &second);
  EXPECT_EQ(diary_.waiting(), 0);
  EXPECT_THAT(diary_.answered(), ElementsAre(Pair(absl::Seconds(3), true),
                                             Pair(absl::ZeroDuration(), true)));
}

TEST_F(SessionObserverTest, ARefusedVoteIsAnsweredWithoutADecision) {
  const std::vector<WorkerRef> all = Group(2);
  EXPECT_THAT(Answered(all[0], 9, Suitable(Verdict::kFinite)),
              IsError(Reason::kStepAhead));
  EXPECT_THAT(diary_.answered(),
              ElementsAre(Pair(absl::ZeroDuration(), false)));
}

// A straggler under PROCEED is a member no more in the write that decides.
TEST_F(SessionObserverTest, TellsTheEvictedFromTheExpired) {
  GroupConfig config = GroupOf(2);
  config.min_workers = 1;
  config.on_timeout = StragglerPolicy::kProceed;
  config.lease_ttl = absl::Minutes(10);
  Create(config);
  const WorkerRef first = MustJoin("w0");
  MustJoin("w1");
  Answers answers;
  // Two steps: the session opened with the first worker alone.
  Cast(first, Verdict::kFinite, &answers);
  diary_.Take();
  Cast(first, Verdict::kFinite, &answers);
  Pass(kStepTimeout + absl::Seconds(1));
  EXPECT_THAT(diary_.Take(), ElementsAre("due 2->3 APPLY, evicted w1/2"));
}

TEST(WorkerChangesOf, ADeletedSessionHasNoWorkersLeft) {
  SessionState state;
  state.group = GroupState{};
  state.group->members = {
      {.worker = "a", .incarnation = 3},
      {.worker = "b", .incarnation = 5, .state = MemberState::kLost}};
  const std::vector<WorkerChange> changes =
      WorkerChangesOf(Cause::kDelete, &state, nullptr, nullptr);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].kind, WorkerChange::Kind::kLeft);
  EXPECT_EQ(changes[0].worker, "a");
  EXPECT_EQ(changes[0].incarnation, 3);
}

}  // namespace
}  // namespace lossscaler::server
