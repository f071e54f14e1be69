// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// No message about the largest group is larger than gRPC's clients accept.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/check_vote.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/wire_limits.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"
#include "lossscaler/wire/status.h"
#include "rpc/translate.h"
#include "sessions/answers.h"
#include "testing/group_driver.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Gt;
using ::testing::Le;

constexpr int kNameBytes = 64;

// A name of the largest size, unique by its number.
std::string LongName(std::int64_t number) {
  std::string name = absl::StrCat(number, "-");
  name.resize(kNameBytes, 'x');
  return name;
}

// The largest vote that a group of the largest size takes, every number at its
// widest; its parts are nobody else's.
Vote LargestVote(std::int64_t worker) {
  Vote vote;
  vote.worker = LongName(worker);
  vote.incarnation = std::int64_t{1} << 62;
  vote.verdict = vote.resolved = Verdict::kFinite;
  vote.scale_used = 65536;
  vote.base_session_uid = std::string(36, 'u');
  vote.base = vote.iteration = std::int64_t{1} << 62;
  vote.sum_of_squares = 0.1;
  while (true) {
    vote.parts.push_back(
        {.name = absl::StrCat("p", worker, "-", vote.parts.size()),
         .sum_of_squares = 0.1});
    if (CheckVoteSize(vote, kMaxWorkers).ok()) continue;
    vote.parts.pop_back();
    return vote;
  }
}

TEST(LargestGroupTest, ASessionWithEveryVoteFitsIntoAMessage) {
  SessionSnapshot snapshot;
  snapshot.state.name = std::string(200, 's');
  snapshot.state.group.emplace().config.max_workers = kMaxWorkers;
  Decision& last = snapshot.last_decision.emplace();
  for (std::int64_t i = 0; i < kMaxWorkers; ++i) {
    const Vote vote = LargestVote(i);
    last.votes.push_back(vote);
    for (const PartVote& part : vote.parts) {
      last.parts.push_back({.name = part.name, .sum_of_squares = 0.1});
    }
    snapshot.members.push_back({.member = {.worker = vote.worker,
                                           .incarnation = vote.incarnation,
                                           .state = MemberState::kActive},
                                .lease_left = absl::Seconds(29.999999999),
                                .vote = vote,
                                .late_overflow = std::int64_t{1} << 62});
  }
  v1::Session message;
  ToProto(snapshot, &message);
  EXPECT_THAT(message.ByteSizeLong(), Le(kMaxMessageBytes));
  // The limit is no tighter than it needs to be.
  EXPECT_THAT(message.ByteSizeLong(), Gt(kMaxMessageBytes / 2));
}

TEST(LargestGroupTest, EveryCheckpointOfItsOwnFitsIntoTheErrorOfACall) {
  GroupDriver group(GroupOf(64));
  for (std::int64_t i = 0; i < 64; ++i) {
    ASSERT_THAT(
        group.Join(
            {.worker = LongName(i),
             .request_id = absl::StrCat(i),
             .checkpoint = Checkpoint{.scaler = GoldenScaler(),
                                      .base = {std::string(64, 'u'), i + 1}}}),
        IsOk());
  }
  const absl::Status closed = group.core().why_closed();
  ASSERT_THAT(closed, IsError(Reason::kCheckpointMismatch));
  // In the trailing metadata: the text, and the details in base64, in which the
  // text comes again. gRPC accepts 8 KiB.
  const std::size_t details = wire::SerializeErrorDetails(closed).size();
  EXPECT_THAT(closed.message().size() + details * 4 / 3, Le(7680u));
}

}  // namespace
}  // namespace lossscaler::server
