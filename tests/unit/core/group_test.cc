// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/group.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Contains;
using ::testing::Pair;

struct BadConfig {
  const char* field;
  std::function<void(GroupConfig*)> spoil;
};

TEST(ValidateGroupConfigTest, EveryFieldOutOfItsRangeIsNamed) {
  const BadConfig rows[] = {
      {"max_workers", [](GroupConfig* c) { c->max_workers = 0; }},
      {"max_workers", [](GroupConfig* c) { c->max_workers = 4097; }},
      {"min_workers", [](GroupConfig* c) { c->min_workers = 0; }},
      {"min_workers", [](GroupConfig* c) { c->min_workers = 5; }},
      {"lease_ttl", [](GroupConfig* c) { c->lease_ttl = absl::Seconds(4.9); }},
      {"lease_ttl", [](GroupConfig* c) { c->lease_ttl = absl::Hours(1.01); }},
      {"lease_ttl",
       [](GroupConfig* c) { c->lease_ttl = absl::InfiniteDuration(); }},
      {"step_timeout",
       [](GroupConfig* c) { c->step_timeout = absl::Seconds(0.9); }},
      {"step_timeout",
       [](GroupConfig* c) { c->step_timeout = absl::Hours(25); }},
      {"max_timeouts", [](GroupConfig* c) { c->max_timeouts = 0; }},
      {"degraded_skips", [](GroupConfig* c) { c->degraded_skips = 0; }},
  };
  for (const BadConfig& row : rows) {
    GroupConfig config;
    config.min_workers = config.max_workers = 4;
    row.spoil(&config);
    const absl::Status status = ValidateGroupConfig(config);
    EXPECT_THAT(status, IsError(Reason::kInvalidGroup)) << row.field;
    EXPECT_THAT(MetadataOf(status), Contains(Pair("field", row.field)));
  }
}

TEST(ValidateGroupConfigTest, TheEndsOfEveryRangeAreAllowed) {
  GroupConfig config;
  config.min_workers = 1;
  config.max_workers = 4096;
  config.lease_ttl = absl::Seconds(5);
  config.step_timeout = absl::Seconds(1);
  config.max_timeouts = config.degraded_skips = 1;
  EXPECT_THAT(ValidateGroupConfig(config), IsOk());
  config.min_workers = 4096;
  config.lease_ttl = absl::Hours(1);
  config.step_timeout = absl::Hours(24);
  EXPECT_THAT(ValidateGroupConfig(config), IsOk());
}

TEST(BaseTest, InitialParametersAreTheSameInEverySession) {
  EXPECT_EQ((Base{"a", 0}), (Base{"b", 0}));
  EXPECT_NE((Base{"a", 1}), (Base{"b", 1}));
  EXPECT_NE((Base{"a", 1}), (Base{"a", 2}));
}

TEST(NamesTest, AreThoseOfTheWire) {
  EXPECT_EQ(MemberStateName(MemberState::kPending), "PENDING");
  EXPECT_EQ(MemberStateName(MemberState::kLost), "LOST");
  EXPECT_EQ(GroupPhaseName(GroupPhase::kIdle), "IDLE");
  EXPECT_EQ(GroupPhaseName(GroupPhase::kPaused), "PAUSED");
  EXPECT_EQ(GroupPhaseName(GroupPhase::kCheckpointMismatch),
            "CHECKPOINT_MISMATCH");
  EXPECT_EQ(GroupPhaseName(GroupPhase::kOpen), "OPEN");
  EXPECT_EQ(GroupPhaseName(GroupPhase::kRestoreRequired), "RESTORE_REQUIRED");
}

}  // namespace
}  // namespace lossscaler
