// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Watching and listing the decisions of a session.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lossscaler/core/pass_over_lost.h"
#include "lossscaler/core/solo.h"
#include "unit/server/sessions/group_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Pair;

class DecisionWatchTest : public GroupFixture {
 protected:
  // A group of one, so that each of its votes is a decision.
  DecisionWatchTest() : all_(Group(1)) {}

  void DecideMany(int count) {
    for (int i = 0; i < count; ++i) decided_.push_back(Decide(all_));
  }

  // Everything that the watch has now.
  static std::vector<Decision> Drained(DecisionWatch* watch) {
    std::vector<Decision> seen;
    while (true) {
      auto caught = std::make_shared<std::optional<absl::StatusOr<Decision>>>();
      watch->Next([caught](const auto& answer) { *caught = answer; });
      if (!*caught) return seen;
      EXPECT_THAT(**caught, IsOk());
      if (!(*caught)->ok()) return seen;
      seen.push_back(***caught);
    }
  }

  static std::vector<std::int64_t> StepsOf(
      const absl::StatusOr<std::vector<Decision>>& decisions) {
    EXPECT_THAT(decisions, IsOk());
    std::vector<std::int64_t> steps;
    for (const Decision& decision : *decisions) steps.push_back(decision.step);
    return steps;
  }

  std::vector<WorkerRef> all_;
  std::vector<Decision> decided_;
};

TEST_F(DecisionWatchTest, ItReadsWhatWasDecidedAndThenWhatIs) {
  DecideMany(3);
  const auto watch = *session_->Watch(2);
  Caught<Decision> seen;
  for (int i = 0; i < 3; ++i) watch->Next(seen.Callback());
  ASSERT_THAT(seen.size(), Eq(2u));
  DecideMany(1);
  ASSERT_THAT(seen.size(), Eq(3u));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(*seen.at(i), Eq(decided_[static_cast<std::size_t>(i) + 1]));
  }
}

TEST_F(DecisionWatchTest, FromZeroItSeesTheNextThatFalls) {
  DecideMany(2);
  const auto watch = *session_->Watch(0);
  Caught<Decision> seen;
  watch->Next(seen.Callback());
  EXPECT_THAT(seen.size(), Eq(0u));
  DecideMany(1);
  ASSERT_THAT(seen.size(), Eq(1u));
  EXPECT_THAT(seen.at(0)->step, Eq(3));
}

TEST_F(DecisionWatchTest, ASlowReaderMissesNothing) {
  const auto watch = *session_->Watch(1);
  Caught<Decision> seen;
  watch->Next(seen.Callback());
  // Far more than the session has in memory; nobody waits for the reader.
  DecideMany(kDecisionsInMemory * 3);
  ASSERT_THAT(seen.size(), Eq(1u));
  EXPECT_THAT(*seen.at(0), Eq(decided_[0]));
  EXPECT_THAT(Drained(watch.get()),
              Eq(std::vector<Decision>(decided_.begin() + 1, decided_.end())));
}

TEST_F(DecisionWatchTest, AReaderThatIsTooSlowIsToldSo) {
  const auto watch = *session_->Watch(1);
  Caught<Decision> seen;
  watch->Next(seen.Callback());
  DecideMany(static_cast<int>(kReplayableDecisions) + 5);
  watch->Next(seen.Callback());
  ASSERT_THAT(seen.size(), Eq(2u));
  EXPECT_THAT(seen.at(1), IsError(Reason::kStepForgotten));
  EXPECT_THAT(MetadataOf(seen.at(1).status()),
              Contains(Pair("oldest_step", "6")));
  // From one: from the first that is kept. The memory store keeps 1,024.
  const auto all = *session_->Watch(1);
  all->Next(seen.Callback());
  EXPECT_THAT(seen.at(2)->step, Eq(6));
}

TEST_F(DecisionWatchTest, ItResumesAfterARestartWhereItWas) {
  DecideMany(2);
  auto watch = *session_->Watch(1);
  std::vector<Decision> seen = Drained(watch.get());
  watch.reset();
  DecideMany(1);
  Restart();
  DecideMany(1);
  watch = *session_->Watch(seen.back().step + 1);
  for (const Decision& decision : Drained(watch.get())) {
    seen.push_back(decision);
  }
  EXPECT_THAT(seen, Eq(decided_));
}

// After a power loss numbers are passed over that may have been lost.
TEST_F(DecisionWatchTest, NumbersThatMayBeLostArePassedOver) {
  DecideMany(2);
  store_.LosePower();
  Restart();
  const auto watch = *session_->Watch(3);
  Caught<Decision> seen;
  watch->Next(seen.Callback());
  EXPECT_THAT(seen.size(), Eq(0u));
  Caught<RestoreAnswer> restored;
  session_->Restore(GoldenScaler(), std::nullopt, "", restored.Callback());
  ASSERT_THAT(restored.at(0), IsOk());
  const std::int64_t beyond = 3 + kLostAtMost;
  ASSERT_THAT(seen.size(), Eq(1u));
  EXPECT_THAT(seen.at(0)->step, Eq(beyond));
  DecideMany(1);
  EXPECT_THAT(StepsOf(session_->ListDecisions({.limit = 9})),
              ElementsAre(beyond + 1, beyond, 2, 1));

  Restart();
  std::vector<std::int64_t> steps;
  for (const Decision& one : Drained(session_->Watch(1)->get())) {
    steps.push_back(one.step);
  }
  EXPECT_THAT(steps, ElementsAre(1, 2, beyond, beyond + 1));
}

TEST_F(DecisionWatchTest, AReadThatFailsIsRepeated) {
  DecideMany(kDecisionsInMemory + 1);
  const auto watch = *session_->Watch(1);
  store_.FailReads(true);
  Caught<Decision> seen;
  watch->Next(seen.Callback());
  EXPECT_THAT(seen.at(0), IsError(Reason::kStoreUnavailable));
  store_.FailReads(false);
  watch->Next(seen.Callback());
  ASSERT_THAT(seen.at(1), IsOk());
  EXPECT_THAT(seen.at(1)->step, Eq(1));
}

TEST_F(DecisionWatchTest, ADrainEndsIt) {
  const auto drained = *session_->Watch(0);
  Caught<Decision> seen;
  drained->Next(seen.Callback());
  registry_->Drain(MakeError(Reason::kDraining, "the server ends"));
  ASSERT_THAT(seen.size(), Eq(1u));
  EXPECT_THAT(seen.at(0), IsError(Reason::kDraining));
}

TEST_F(DecisionWatchTest, ADeletionEndsIt) {
  const auto watch = *session_->Watch(0);
  Caught<Decision> seen;
  watch->Next(seen.Callback());
  registry_->Delete("run", "", "", [](const absl::Status&) {});
  ASSERT_THAT(seen.size(), Eq(1u));
  EXPECT_THAT(seen.at(0), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(session_->Watch(0), IsError(Reason::kSessionNotFound));
}

TEST_F(DecisionWatchTest, GivenUpItIsAnsweredOnce) {
  Caught<Decision> seen;
  {
    const auto watch = *session_->Watch(0);
    watch->Next(seen.Callback());
    watch->Cancel();
    ASSERT_THAT(seen.size(), Eq(1u));
    EXPECT_THAT(seen.at(0).status(), HasCode(absl::StatusCode::kCancelled));
    watch->Next(seen.Callback());
    ASSERT_THAT(seen.size(), Eq(2u));
    EXPECT_THAT(seen.at(1).status(), HasCode(absl::StatusCode::kCancelled));
  }
  DecideMany(1);
  EXPECT_THAT(seen.size(), Eq(2u));
}

TEST_F(DecisionWatchTest, AStepThatIsNoneYetCannotBeWatchedFrom) {
  DecideMany(1);
  EXPECT_THAT(session_->Watch(2), IsOk());
  EXPECT_THAT(session_->Watch(3), IsError(Reason::kStepAhead));
  EXPECT_THAT(session_->Watch(-1), IsError(Reason::kInvalidField));
}

TEST_F(DecisionWatchTest, ListsTheNewestFirst) {
  DecideMany(5);
  EXPECT_THAT(StepsOf(session_->ListDecisions({.limit = 2})),
              ElementsAre(5, 4));
  EXPECT_THAT(
      StepsOf(session_->ListDecisions({.before_step = 4, .limit = 100})),
      ElementsAre(3, 2, 1));
  EXPECT_THAT(StepsOf(session_->ListDecisions({.step = 2})), ElementsAre(2));
  EXPECT_THAT(StepsOf(session_->ListDecisions({.step = 6})), IsEmpty());
  EXPECT_THAT(StepsOf(session_->ListDecisions({.before_step = 2, .step = 2})),
              IsEmpty());
}

TEST_F(DecisionWatchTest, ListsTheStepsOfAnIteration) {
  for (const std::int64_t iteration : {7, 7, 8}) {
    Vote vote = Suitable(Verdict::kFinite);
    vote.iteration = iteration;
    ASSERT_THAT(Answered(all_[0], Step(), vote), IsOk());
  }
  EXPECT_THAT(StepsOf(session_->ListDecisions({.iteration = 7})),
              ElementsAre(2, 1));
  EXPECT_THAT(StepsOf(session_->ListDecisions({.step = 3, .iteration = 7})),
              IsEmpty());
  EXPECT_THAT(StepsOf(session_->ListDecisions({.step = 3, .iteration = 8})),
              ElementsAre(3));
}

}  // namespace
}  // namespace lossscaler::server
