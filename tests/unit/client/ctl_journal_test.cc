// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// watch and decisions.

#include <cstdint>
#include <functional>
#include <ios>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"
#include "testing/ctl_group.h"

namespace lossscaler::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Return;

class CtlJournalTest : public CtlTest {
 protected:
  CtlJournalTest() : info_(Group(Info("a"))) {
    ON_CALL(*connection_, GetSession).WillByDefault([this] { return info_; });
    EXPECT_CALL(*connection_, GetSession).Times(::testing::AnyNumber());
  }

  static Decision At(std::int64_t step) {
    Decision decision = OverflowDecision();
    decision.step = step;
    return decision;
  }

  // A server that lets the given decisions fall, as long as they are wanted.
  void ExpectWatch(std::vector<Decision> decisions,
                   absl::Status end = absl::OkStatus()) {
    EXPECT_CALL(*connection_, WatchSession)
        .WillOnce([this, decisions, end](
                      const SessionRef& session, const WatchCall& call,
                      const std::function<bool(const Decision&)>& see) {
          EXPECT_EQ(session.uid, "uid-1");
          watched_from_ = call.from_step;
          for (const Decision& decision : decisions) {
            if (!see(decision)) return absl::OkStatus();
          }
          return end;
        });
  }

  // Pages of the decisions of the steps given, one for each list.
  void ExpectPages(const std::vector<std::vector<std::int64_t>>& pages) {
    EXPECT_CALL(*connection_, ListDecisions)
        .WillRepeatedly(
            [this, pages](const SessionRef&, const ListDecisionsCall& call) {
              calls_.push_back(call);
              const std::size_t index =
                  call.page_token.empty() ? 0 : std::stoul(call.page_token);
              DecisionPage page;
              for (const std::int64_t step : pages[index]) {
                page.decisions.push_back(At(step));
              }
              if (index + 1 < pages.size()) {
                page.next_page_token = std::to_string(index + 1);
              }
              return page;
            });
  }

  std::vector<std::int64_t> StepsOfJson() {
    std::vector<std::int64_t> steps;
    for (const Json& decision : OneLine(out_))
      steps.push_back(decision["step"]);
    return steps;
  }

  SessionInfo info_;
  std::int64_t watched_from_ = -1;
  std::vector<ListDecisionsCall> calls_;
};

using Steps = std::vector<std::int64_t>;

TEST_F(CtlJournalTest, WatchWritesALineForEachDecision) {
  Decision odd = At(6);
  odd.explanation = "a\nb\x1b[2J";
  ExpectWatch({At(5), odd});
  EXPECT_EQ(Run({"watch", "a"}), kDone);
  EXPECT_EQ(out_.str(),
            "1970-01-01T00:00:00+00:00  step 5  SKIP_OVERFLOW  a gradient was "
            "not finite\n"
            "1970-01-01T00:00:00+00:00  step 6  SKIP_OVERFLOW  a b [2J\n");
  // The next that falls: the open step.
  EXPECT_EQ(watched_from_, 5);
}

TEST_F(CtlJournalTest, WatchWritesALineOfJsonForEachDecision) {
  ExpectWatch({At(2), At(3)});
  EXPECT_EQ(Run({"watch", "a", "--json", "--from", "2"}), kDone);
  EXPECT_EQ(watched_from_, 2);
  std::istringstream lines(out_.str());
  for (const std::int64_t step : {2, 3}) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line)["step"], step);
  }
}

TEST_F(CtlJournalTest, WatchEndsAfterAsManyAsAskedFor) {
  ExpectWatch({At(5), At(6), At(7)});
  EXPECT_EQ(Run({"watch", "a", "--count", "2"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("step 6"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("step 7")));
}

TEST_F(CtlJournalTest, WatchEndsWhenNobodyReadsItAnyMore) {
  EXPECT_CALL(*connection_, WatchSession)
      .WillOnce([this](const SessionRef&, const WatchCall&,
                       const std::function<bool(const Decision&)>& see) {
        out_.setstate(std::ios::badbit);
        EXPECT_FALSE(see(At(5)));
        return absl::OkStatus();
      });
  EXPECT_EQ(Run({"watch", "a"}), kRefused);
}

TEST_F(CtlJournalTest, WatchSaysWhyItEnded) {
  ExpectWatch({At(5)}, MakeError(Reason::kSessionNotFound, "deleted"));
  EXPECT_EQ(Run({"watch", "a"}), kRefused);
  EXPECT_THAT(out_.str(), HasSubstr("step 5"));
  EXPECT_EQ(err_.str(), "lossscalerctl: SESSION_NOT_FOUND: deleted\n");
}

TEST_F(CtlJournalTest, NumbersOfStepsAndCountsBeginWithOne) {
  for (const char* flag : {"--from", "--count"}) {
    EXPECT_EQ(Run({"watch", "a", flag, "0"}), kWrongUsage);
    EXPECT_THAT(err_.str(), HasSubstr("\"0\" is less than 1"));
  }
  EXPECT_EQ(Run({"decisions", "a", "--limit", "0"}), kWrongUsage);
}

TEST_F(CtlJournalTest, DecisionsAreListedNewestFirst) {
  Decision group = At(7);
  for (int i = 0; i < 5; ++i) {
    group.votes.push_back(
        VoteOf("w" + std::to_string(i), i + 1, Verdict::kFinite));
  }
  Decision solo = At(6);
  solo.votes = {VoteOf("", 0, Verdict::kOverflow)};
  Decision restored = At(5);
  restored.outcome = Outcome::kAborted;
  restored.reason = DecisionReason::kRestored;
  EXPECT_CALL(*connection_, ListDecisions)
      .WillOnce(Return(DecisionPage{.decisions = {group, solo, restored},
                                    .next_page_token = ""}));
  EXPECT_EQ(Run({"decisions", "a"}), kDone);
  EXPECT_EQ(out_.str(),
            "STEP  OUTCOME        REASON    SCALE         BASE    EPOCH  VOTERS"
            "                     DECIDED\n"
            "7     SKIP_OVERFLOW  OVERFLOW  2048 -> 1024  4 -> 4  2      w0, "
            "w1, w2, w3 and 1 more  1970-01-01T00:00:00+00:00\n"
            "6     SKIP_OVERFLOW  OVERFLOW  2048 -> 1024  4 -> 4  2      the "
            "trainer                1970-01-01T00:00:00+00:00\n"
            "5     ABORTED        RESTORED  2048 -> 1024  4 -> 4  2      -     "
            "                     1970-01-01T00:00:00+00:00\n");
}

TEST_F(CtlJournalTest, DecisionsGoThroughPagesUntilThereAreEnough) {
  ExpectPages({{9, 8}, {7, 6}, {5}});
  EXPECT_EQ(Run({"decisions", "a", "--json"}), kDone);
  EXPECT_EQ(StepsOfJson(), (Steps{9, 8, 7, 6, 5}));
  EXPECT_EQ(calls_[0].page_size, 20);
  EXPECT_EQ(calls_[1].page_size, 18);

  EXPECT_EQ(Run({"decisions", "a", "--json", "--limit", "3"}), kDone);
  EXPECT_EQ(StepsOfJson(), (Steps{9, 8, 7}));

  EXPECT_EQ(Run({"decisions", "a", "--json", "--from", "7"}), kDone);
  EXPECT_EQ(StepsOfJson(), (Steps{9, 8, 7}));

  calls_.clear();
  EXPECT_EQ(
      Run({"decisions", "a", "--json", "--limit", "5000", "--iteration", "3"}),
      kDone);
  EXPECT_EQ(calls_[0].page_size, 1000);
  for (const ListDecisionsCall& call : calls_) EXPECT_EQ(call.iteration, 3);
}

TEST_F(CtlJournalTest, OneDecisionIsToldInFull) {
  Decision decision = At(4);
  decision.explanation = "skipped because of an overflow";
  Vote finite = VoteOf("w0", 1, Verdict::kFinite);
  finite.scale_used = 2048;
  finite.base = 4;
  finite.iteration = 12;
  finite.sum_of_squares = 9;
  Vote overflow = VoteOf("w1", 2, Verdict::kOverflow);
  overflow.verdict = Verdict::kUnset;
  overflow.stream_ids = {"s1", "s2"};
  overflow.parts = {
      {.name = "gen", .verdict = Verdict::kOverflow, .sum_of_squares = {}},
      {.name = "disc", .verdict = Verdict::kFinite, .sum_of_squares = {}}};
  decision.votes = {finite, overflow};
  decision.parts = {{.name = "gen", .apply = false, .sum_of_squares = {}},
                    {.name = "disc", .apply = true, .sum_of_squares = 4.0}};
  decision.lost = {"w2"};
  decision.evicted = {"w3", "w4"};
  info_.workers = {Worker("w0", 1), Worker("w1", 2), Worker("w5", 6),
                   Worker("w6", 7)};
  info_.workers[2].late_overflow = 4;
  info_.workers[3].member.state = MemberState::kLeft;
  EXPECT_CALL(*connection_, ListDecisions)
      .WillRepeatedly(
          Return(DecisionPage{.decisions = {decision}, .next_page_token = ""}));
  EXPECT_EQ(Run({"decisions", "a", "--step", "4"}), kDone);
  EXPECT_EQ(
      out_.str(),
      "step:                        4\n"
      "outcome:                     SKIP_OVERFLOW\n"
      "reason:                      OVERFLOW\n"
      "explanation:                 skipped because of an overflow\n"
      "decided:                     1970-01-01T00:00:00+00:00\n"
      "scale:                       2048 -> 1024\n"
      "base:                        4 -> 4\n"
      "epoch after:                 2\n"
      "marks:                       floored\n"
      "applied:                     4 of 5\n"
      "overflow found by:           w1\n"
      "lost before voting:          w2\n"
      "evicted:                     w3, w4\n"
      "without a vote:              w5 (of the workers that are in now)\n"
      "overflow found too late by:  w5\n"
      "\n"
      "WORKER  INCARNATION  VOTE                  SCALE  BASE  ITERATION  NORM "
      " PARTS\n"
      "w0      1            FINITE                2048   4     12         3    "
      " -\n"
      "w1      2            OVERFLOW (2 streams)  -      -     -          -    "
      " gen OVERFLOW, disc FINITE\n"
      "\n"
      "PART  APPLIES  NORM\n"
      "gen   no       -\n"
      "disc  yes      2\n");
  EXPECT_EQ(Run({"decisions", "a", "--step", "4", "--json"}), kDone);
  const Json json = OneLine(out_);
  EXPECT_EQ(json["late_overflows"], Json({"w5"}));
  EXPECT_EQ(json["lost"], Json({"w2"}));
  EXPECT_EQ(json["evicted"], Json({"w3", "w4"}));
  EXPECT_EQ(json["parts"], Json::parse(R"([
    {"name": "gen", "apply": false},
    {"name": "disc", "apply": true, "sum_of_squares": 4.0}])"));
  EXPECT_EQ(json["votes"], Json::parse(R"([
    {"worker": "w0", "incarnation": 1, "verdict": "FINITE",
     "resolved": "FINITE", "scale_used": 2048.0, "base": 4, "iteration": 12,
     "sum_of_squares": 9.0},
    {"worker": "w1", "incarnation": 2, "verdict": "UNSPECIFIED",
     "resolved": "OVERFLOW", "stream_ids": ["s1", "s2"],
     "parts": [{"name": "gen", "verdict": "OVERFLOW"},
               {"name": "disc", "verdict": "FINITE"}]}])"));
}

TEST_F(CtlJournalTest, AMismatchOfIterationsSaysWhereAllGoOn) {
  Decision decision = At(4);
  decision.outcome = Outcome::kSkip;
  decision.reason = DecisionReason::kIterationMismatch;
  decision.next_iteration = 8;
  decision.votes = {VoteOf("w0", 1, Verdict::kSkip)};
  decision.base_before_session_uid = "old";
  EXPECT_CALL(*connection_, ListDecisions)
      .WillRepeatedly(
          Return(DecisionPage{.decisions = {decision}, .next_page_token = ""}));
  EXPECT_EQ(Run({"decisions", "a", "--step", "4"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("all go on at iteration:  8\n"));
  EXPECT_THAT(out_.str(), HasSubstr("skip asked for by:       w0\n"));
  EXPECT_THAT(out_.str(), HasSubstr("4 of session old -> 4\n"));
}

TEST_F(CtlJournalTest, ARestoreNamesItsRequest) {
  Decision decision = At(4);
  decision.request_id = "request-1";
  EXPECT_CALL(*connection_, ListDecisions)
      .WillRepeatedly(
          Return(DecisionPage{.decisions = {decision}, .next_page_token = ""}));
  EXPECT_EQ(Run({"decisions", "a", "--step", "4"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("made by request:  request-1\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("WORKER")));
}

TEST_F(CtlJournalTest, AStepThatIsNotThereSaysWhetherItWillBe) {
  EXPECT_CALL(*connection_, ListDecisions)
      .WillRepeatedly(Return(DecisionPage{}));
  EXPECT_EQ(Run({"decisions", "a", "--step", "5"}), kRefused);
  EXPECT_EQ(err_.str(),
            "lossscalerctl: STEP_AHEAD: step 5 is not decided; the session's "
            "next decision is step 5\n");
  EXPECT_EQ(Run({"decisions", "a", "--step", "4"}), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("STEP_FORGOTTEN: "));
}

TEST_F(CtlJournalTest, AStoryHasNoListToNarrowDown) {
  for (const char* flag : {"--from", "--limit", "--iteration"}) {
    EXPECT_EQ(Run({"decisions", "a", "--step", "4", flag, "3"}), kWrongUsage);
  }
}

TEST_F(CtlJournalTest, ANumberThatJsonLacksIsAWord) {
  Decision decision = At(4);
  Vote vote = VoteOf("w0", 1, Verdict::kOverflow);
  vote.sum_of_squares = std::numeric_limits<double>::infinity();
  decision.votes = {vote};
  EXPECT_CALL(*connection_, ListDecisions)
      .WillOnce(
          Return(DecisionPage{.decisions = {decision}, .next_page_token = ""}));
  EXPECT_EQ(Run({"decisions", "a", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_)[0]["votes"][0]["sum_of_squares"], "Infinity");
}

}  // namespace
}  // namespace lossscaler::ctl
