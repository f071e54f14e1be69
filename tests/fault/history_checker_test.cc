// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The history checker finds each kind of wrong: a history that is right, with
// one thing changed.

#include "fault/group/history_checker.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kUid[] = "uid";

// Two workers and three steps: APPLY, SKIP_OVERFLOW (by rank-1), APPLY. The
// scale is 8, halved by the overflow.
class HistoryCheckerTest : public ::testing::Test {
 protected:
  HistoryCheckerTest() {
    session_.uid = kUid;
    session_.initial = *LossScaler::Dynamic(8, 2, 100);
    session_.config.min_workers = session_.config.max_workers = 2;
    for (const char* name : {"rank-0", "rank-1"}) {
      History& history = histories_.emplace_back();
      history.name = name;
      Add(&history, EVENT_STARTED, 0);
      Add(&history, EVENT_JOINED, 1);
    }
    Decide(v1::OUTCOME_APPLY, 8, 8, 0, 1);
    Decide(v1::OUTCOME_SKIP_OVERFLOW, 8, 4, 1, 1);
    Decide(v1::OUTCOME_APPLY, 4, 4, 1, 3);
  }

  // Every worker votes, sees it, and applies it.
  void Decide(v1::Outcome outcome, double before, double after,
              std::int64_t base_before, std::int64_t base_after) {
    v1::Decision& decision = session_.journal.emplace_back();
    decision.set_step(static_cast<std::int64_t>(session_.journal.size()));
    decision.set_outcome(outcome);
    decision.set_scale_before(before);
    decision.set_scale_after(after);
    decision.set_base_before(base_before);
    decision.set_base_after(base_after);
    decision.set_epoch_after(1);
    for (History& history : histories_) {
      v1::Vote vote;
      vote.set_worker(history.name);
      vote.set_verdict(outcome == v1::OUTCOME_SKIP_OVERFLOW &&
                               history.name == "rank-1"
                           ? v1::VERDICT_OVERFLOW
                           : v1::VERDICT_FINITE);
      vote.set_scale_used(before);
      vote.set_base(base_before);
      vote.set_iteration(decision.step());
      *Add(&history, EVENT_VOTING, decision.step())->mutable_vote() = vote;
      vote.set_incarnation(1);
      *decision.add_votes() = vote;
    }
    for (History& history : histories_) {
      v1::Decision* const told =
          Add(&history, EVENT_DECIDED, decision.step())->mutable_decision();
      *told = decision;
      told->clear_votes();
      if (outcome == v1::OUTCOME_APPLY) {
        Observation* const applied =
            Add(&history, EVENT_APPLIED, decision.step());
        applied->mutable_model()->mutable_base()->set_step(base_after);
        applied->mutable_model()->mutable_base()->set_session_uid(kUid);
        applied->mutable_model()->set_digest(
            static_cast<std::uint64_t>(base_after));
      }
    }
  }

  // With the model of the line before.
  static Observation* Add(History* history, Event event, std::int64_t step) {
    Observation next;
    if (!history->observations.empty()) {
      *next.mutable_model() = history->observations.back().model();
    } else {
      next.mutable_model();
    }
    next.set_event(event);
    next.set_worker(history->name);
    next.set_incarnation(1);
    next.set_step(step);
    history->observations.push_back(next);
    return &history->observations.back();
  }

  v1::Decision& Journal(std::int64_t step) {
    return session_.journal[static_cast<std::size_t>(step - 1)];
  }
  // The first of rank-0.
  Observation& Seen(Event event, std::int64_t step) {
    for (Observation& seen : histories_[0].observations) {
      if (seen.event() == event && seen.step() == step) return seen;
    }
    ADD_FAILURE() << "no such observation";
    return histories_[0].observations[0];
  }
  // Changes a decision where it is written and wherever it was seen.
  template <typename Change>
  void ChangeEverywhere(std::int64_t step, Change change) {
    change(&Journal(step));
    for (History& history : histories_) {
      for (Observation& seen : history.observations) {
        if (seen.event() == EVENT_DECIDED && seen.step() == step) {
          *seen.mutable_decision() = Journal(step);
          seen.mutable_decision()->clear_votes();
        }
      }
    }
  }

  void ExpectViolation(const std::string& what) {
    EXPECT_THAT(Violations(session_, histories_), Contains(HasSubstr(what)));
  }

  SessionRecord session_;
  std::vector<History> histories_;
};

TEST_F(HistoryCheckerTest, FindsNothingInAHistoryThatIsRight) {
  EXPECT_THAT(Violations(session_, histories_), IsEmpty());
}

TEST_F(HistoryCheckerTest, StepIsDecidedTwice) {
  session_.journal.push_back(Journal(3));
  ExpectViolation("journal, step 3: follows step 3");
}

TEST_F(HistoryCheckerTest, StepIsMissing) {
  session_.journal.erase(session_.journal.begin() + 1);
  ExpectViolation("journal, step 3: follows step 1");
  ExpectViolation("saw a decision that the journal does not have");
}

TEST_F(HistoryCheckerTest, EpochFalls) {
  ChangeEverywhere(
      1, [](v1::Decision* decision) { decision->set_epoch_after(2); });
  ExpectViolation("journal, step 2: the epoch falls");
}

TEST_F(HistoryCheckerTest, EpochFallsForOneProcess) {
  Seen(EVENT_JOINED, 1).set_epoch(2);
  Observation again = Seen(EVENT_JOINED, 1);
  again.set_epoch(1);
  histories_[0].observations.insert(histories_[0].observations.begin() + 2,
                                    again);
  ExpectViolation("rank-0, step 1: the epoch falls");
}

TEST_F(HistoryCheckerTest, OneObserverSawAnotherDecision) {
  Seen(EVENT_DECIDED, 2)
      .mutable_decision()
      ->set_reason(v1::DECISION_REASON_TIMEOUT);
  ExpectViolation("rank-0, step 2: saw another decision");
}

TEST_F(HistoryCheckerTest, DecisionIsSeenAfterALaterOne) {
  Observation again = Seen(EVENT_DECIDED, 2);
  *again.mutable_model() = histories_[0].observations.back().model();
  histories_[0].observations.push_back(again);
  ExpectViolation("rank-0, step 2: seen after step 3");
}

TEST_F(HistoryCheckerTest, AppliedWithoutAVoteOfTheRoster) {
  ChangeEverywhere(1, [](v1::Decision* decision) {
    decision->mutable_votes()->RemoveLast();
  });
  ExpectViolation("decision 1: applied with 1 votes");
}

TEST_F(HistoryCheckerTest, WhoHasLeftNeedNotVote) {
  ChangeEverywhere(3, [](v1::Decision* decision) {
    decision->mutable_votes()->RemoveLast();
  });
  std::vector<Observation>& of_rank_1 = histories_[1].observations;
  while (of_rank_1.back().step() == 3) of_rank_1.pop_back();
  Add(&histories_[1], EVENT_LEAVING, 3);
  EXPECT_THAT(Violations(session_, histories_), IsEmpty());
  // But who has come back must.
  Add(&histories_[1], EVENT_JOINED, 2)->set_incarnation(2);
  ExpectViolation("decision 3: applied with 1 votes");
}

TEST_F(HistoryCheckerTest, AppliedAgainstAVote) {
  ChangeEverywhere(1, [](v1::Decision* decision) {
    decision->mutable_votes(1)->set_verdict(v1::VERDICT_SKIP);
  });
  ExpectViolation("decision 1: applied against the vote of rank-1");
}

TEST_F(HistoryCheckerTest, RecordedOverflowDoesNotWin) {
  ChangeEverywhere(2, [](v1::Decision* decision) {
    decision->set_outcome(v1::OUTCOME_SKIP);
  });
  ExpectViolation("decision 2: a recorded OVERFLOW did not win");
}

TEST_F(HistoryCheckerTest, VoteWithAnotherScaleCounts) {
  ChangeEverywhere(1, [](v1::Decision* decision) {
    decision->mutable_votes(0)->set_scale_used(16);
  });
  ExpectViolation("decision 1: rank-0 voted with scale 16");
}

TEST_F(HistoryCheckerTest, VoteOnAnotherBaseCounts) {
  ChangeEverywhere(3, [](v1::Decision* decision) {
    decision->mutable_votes(0)->set_base(0);
  });
  ExpectViolation("decision 3: rank-0 voted on base 0");
}

TEST_F(HistoryCheckerTest, VoteOnABaseOfAnotherSessionCounts) {
  ChangeEverywhere(3, [](v1::Decision* decision) {
    decision->mutable_votes(0)->set_base_session_uid("other");
  });
  ExpectViolation("decision 3: rank-0 voted on base 1");
}

TEST_F(HistoryCheckerTest, VoteCountsThatNobodyCast) {
  Seen(EVENT_VOTING, 3).mutable_vote()->set_verdict(v1::VERDICT_ABSTAIN);
  ExpectViolation("decision 3: rank-0 never cast the vote that counts");
}

TEST_F(HistoryCheckerTest, WorkerVotesTwice) {
  ChangeEverywhere(1, [](v1::Decision* decision) {
    *decision->add_votes() = decision->votes(0);
  });
  ExpectViolation("decision 1: rank-0 votes twice");
}

TEST_F(HistoryCheckerTest, DifferentIterationsAreApplied) {
  ChangeEverywhere(3, [](v1::Decision* decision) {
    decision->mutable_votes(0)->set_iteration(4);
  });
  ExpectViolation("decision 3: applied different iterations");
}

TEST_F(HistoryCheckerTest, FencedVoteCounts) {
  Add(&histories_[0], EVENT_JOINED, 2)->set_incarnation(2);
  ExpectViolation("counts incarnation 1 of rank-0, which 2 had replaced");
}

TEST_F(HistoryCheckerTest, ScaleDoesNotFollowFromTheOutcomes) {
  ChangeEverywhere(
      2, [](v1::Decision* decision) { decision->set_scale_after(8); });
  ExpectViolation("journal, step 2: no scaler goes from 8 to 8");
}

TEST_F(HistoryCheckerTest, ScaleMovesBetweenTwoDecisions) {
  ChangeEverywhere(3, [](v1::Decision* decision) {
    decision->set_scale_before(8);
    decision->set_scale_after(8);
  });
  ExpectViolation("journal, step 3: no scaler goes from 8 to 8");
}

TEST_F(HistoryCheckerTest, RestoredScaleIsOneThatWasPresented) {
  v1::Decision& restored = session_.journal.emplace_back();
  restored.set_step(4);
  restored.set_outcome(v1::OUTCOME_ABORTED);
  restored.set_reason(v1::DECISION_REASON_RESTORED);
  restored.set_scale_before(4);
  restored.set_scale_after(32);
  restored.set_base_before(3);
  restored.set_base_after(4);
  restored.set_epoch_after(2);
  ExpectViolation("journal, step 4: no scaler goes from 4 to 32");
  wire::ToProto(Checkpoint{.scaler = *LossScaler::Dynamic(32, 2, 100)},
                Add(&histories_[0], EVENT_PRESENTS, 4)->mutable_checkpoint());
  EXPECT_THAT(Violations(session_, histories_), IsEmpty());
}

TEST_F(HistoryCheckerTest, SkipMovesTheBase) {
  ChangeEverywhere(2,
                   [](v1::Decision* decision) { decision->set_base_after(2); });
  ExpectViolation("journal, step 2: a skip moves the base");
  ExpectViolation("journal, step 3: base_before is not the base");
}

TEST_F(HistoryCheckerTest, AppliedStepIsNotTheBase) {
  ChangeEverywhere(3,
                   [](v1::Decision* decision) { decision->set_base_after(1); });
  ExpectViolation("step 3: an applied step is not the base after it");
  ExpectViolation("rank-0, step 3: the applied base is not the decision's");
}

TEST_F(HistoryCheckerTest, SkippedStepIsApplied) {
  Observation* const applied = Add(&histories_[0], EVENT_APPLIED, 2);
  applied->mutable_model()->mutable_base()->set_step(2);
  ExpectViolation("rank-0, step 2: applied a step that is to be skipped");
}

TEST_F(HistoryCheckerTest, UndecidedStepIsApplied) {
  Add(&histories_[0], EVENT_APPLIED, 4);
  ExpectViolation("rank-0, step 4: applied a step that is not decided");
}

TEST_F(HistoryCheckerTest, StepIsAppliedToAnotherBase) {
  // As if rank-0 had lost step 1 in a restart.
  Observation* const loaded = &Seen(EVENT_DECIDED, 3);
  loaded->set_event(EVENT_LOADED);
  loaded->mutable_model()->clear_base();
  loaded->mutable_model()->set_digest(0);
  ExpectViolation("rank-0, step 3: applied to parameters of another base");
}

TEST_F(HistoryCheckerTest, StepIsAppliedWithoutItsVote) {
  ChangeEverywhere(1, [](v1::Decision* decision) {
    decision->mutable_votes(0)->set_worker("rank-2");
  });
  ExpectViolation("rank-0, step 1: applied without its vote");
}

TEST_F(HistoryCheckerTest, EqualBasesHaveOtherParameters) {
  Seen(EVENT_APPLIED, 3).mutable_model()->set_digest(7);
  ExpectViolation("step 3: other parameters than a peer's of the same base");
}

TEST_F(HistoryCheckerTest, BaseMovesByItself) {
  Seen(EVENT_VOTING, 2).mutable_model()->mutable_base()->set_step(9);
  ExpectViolation("rank-0, step 2: the base moved by itself");
}

}  // namespace
}  // namespace lossscaler::testing
