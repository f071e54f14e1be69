// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/check_vote.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::Contains;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Vote GroupVote(Verdict verdict = Verdict::kFinite) {
  Vote vote = VoteOf(verdict);
  vote.scale_used = 1024;
  vote.base = 3;
  vote.base_session_uid = "uid";
  return vote;
}

void ExpectRefused(const Vote& vote, const std::string& field) {
  const absl::Status status = CheckGroupVote(1, vote);
  EXPECT_THAT(status, IsError(Reason::kInvalidField));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("field", field)));
}

TEST(CheckGroupVoteTest, AVoteNamesItsStep) {
  EXPECT_THAT(CheckGroupVote(std::nullopt, GroupVote()),
              IsError(Reason::kStepRequired));
  EXPECT_THAT(CheckGroupVote(1, GroupVote()), IsOk());
}

TEST(CheckGroupVoteTest, OnlyAbstainNeedsNeitherBaseNorScale) {
  Vote vote = GroupVote();
  vote.base.reset();
  ExpectRefused(vote, "base");
  vote = GroupVote();
  vote.base_session_uid.clear();
  ExpectRefused(vote, "base_session_uid");
  vote.base = 0;
  EXPECT_THAT(CheckGroupVote(1, vote), IsOk());
  vote = GroupVote();
  vote.scale_used.reset();
  ExpectRefused(vote, "scale_used");
  vote.verdict = Verdict::kSkip;
  EXPECT_THAT(CheckGroupVote(1, vote), IsOk());
  EXPECT_THAT(CheckGroupVote(1, VoteOf(Verdict::kAbstain)), IsOk());
}

// A vote with one stream and names of every length allowed: 128 + 64 + 36 + 66.
TEST(CheckVoteSizeTest, OrdinaryVotesFitIntoTheLargestGroup) {
  Vote vote = GroupVote(Verdict::kUnset);
  vote.request_id = std::string(20, 'r');
  vote.base_session_uid = std::string(36, 'u');
  vote.stream_ids = {std::string(64, 's')};
  EXPECT_THAT(CheckVoteSize(vote, kMaxWorkers), IsOk());
}

// (4 MiB - 64 KiB) / 4096 workers = 1008 bytes, less 128, by 3: 293.
TEST(CheckVoteSizeTest, AGroupOfTheLargestSizeMayTake293BytesAVote) {
  Vote vote = GroupVote(Verdict::kUnset);
  vote.base_session_uid.clear();
  vote.stream_ids = {std::string(163, 's')};  // 128 + 2 + 163
  EXPECT_THAT(CheckVoteSize(vote, kMaxWorkers), IsOk());
  vote.stream_ids = {std::string(164, 's')};
  const absl::Status refused = CheckVoteSize(vote, kMaxWorkers);
  EXPECT_THAT(refused, IsError(Reason::kInvalidField));
  EXPECT_THAT(MetadataOf(refused), Contains(Pair("field", "vote")));
  EXPECT_THAT(CheckVoteSize(vote, kMaxWorkers / 2), IsOk());
}

TEST(CheckVoteSizeTest, PartsCount) {
  Vote vote = GroupVote();
  for (int i = 0; i < 64; ++i) {
    vote.parts.push_back({.name = absl::StrCat("part-", i)});
  }
  EXPECT_THAT(CheckVoteSize(vote, kMaxWorkers), IsError(Reason::kInvalidField));
  EXPECT_THAT(CheckVoteSize(vote, 32), IsOk());
}

TEST(CheckGroupVoteTest, AnIterationHasANextOneAndIsNoAbstainersBusiness) {
  Vote vote = GroupVote();
  vote.iteration = -1;
  ExpectRefused(vote, "iteration");
  vote.iteration = std::numeric_limits<std::int64_t>::max();
  ExpectRefused(vote, "iteration");
  vote.iteration = *vote.iteration - 1;
  EXPECT_THAT(CheckGroupVote(1, vote), IsOk());
  vote = VoteOf(Verdict::kAbstain);
  vote.iteration = 5;
  ExpectRefused(vote, "iteration");
}

TEST(CheckVoteTest, SixtyFourPartsAreAllowed) {
  Vote vote = GroupVote();
  for (int i = 0; i < 64; ++i) vote.parts.push_back({absl::StrCat("p", i)});
  EXPECT_THAT(CheckVote(1, vote), IsOk());
  vote.parts.push_back({"p64"});
  const absl::Status status = CheckGroupVote(1, vote);
  EXPECT_THAT(status, IsError(Reason::kTooManyParts));
  EXPECT_THAT(MetadataOf(status),
              UnorderedElementsAre(Pair("parts", "65"), Pair("limit", "64")));
}

TEST(CheckVoteTest, APartHasANameOfItsOwn) {
  for (const std::string& name : {std::string(), std::string("a b"),
                                  std::string(65, 'x'), std::string("a\n")}) {
    Vote vote = GroupVote();
    vote.parts = {{name}};
    ExpectRefused(vote, "parts.name");
  }
  Vote vote = GroupVote();
  vote.parts = {{"generator"}, {"critic"}, {"generator"}};
  ExpectRefused(vote, "parts.name");
}

TEST(CheckVoteTest, APartIsFiniteOrOverflow) {
  for (const Verdict verdict :
       {Verdict::kUnset, Verdict::kAbstain, Verdict::kSkip}) {
    Vote vote = GroupVote();
    vote.parts = {{"p", verdict}};
    ExpectRefused(vote, "parts.verdict");
  }
}

// An OVERFLOW whose parts are all finite would be applied in every part.
TEST(CheckVoteTest, TheVerdictIsWhatThePartsComeTo) {
  for (const Verdict verdict : {Verdict::kUnset, Verdict::kOverflow,
                                Verdict::kAbstain, Verdict::kSkip}) {
    Vote vote = GroupVote(verdict);
    vote.parts = {{"p", Verdict::kFinite}};
    EXPECT_THAT(CheckVote(1, vote), IsError(Reason::kInvalidField));
  }
  Vote vote = GroupVote();
  vote.parts = {{"p", Verdict::kFinite}, {"q", Verdict::kOverflow}};
  ExpectRefused(vote, "verdict");
  vote.verdict = Verdict::kOverflow;
  EXPECT_THAT(CheckVote(1, vote), IsOk());
}

}  // namespace
}  // namespace lossscaler
