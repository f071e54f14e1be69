// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Databases of older releases hold the recorded bytes.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "store/record_codec.h"
#include "store/session_record.pb.h"
#include "testing/wire_records.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::ExpectRecordHolds;
using ::lossscaler::testing::NotRecorded;
using ::lossscaler::testing::ProtoFilesBelow;
using ::lossscaler::testing::ReadWireRecords;
using ::lossscaler::testing::WireRecord;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<WireRecord> Records() {
  (void)store::SessionRecord::descriptor();  // Links the file in.
  return ReadWireRecords(LOSSSCALER_TEST_DATA "/wire/store.txt");
}

TEST(RecordedSession, StillMeansWhatItMeant) {
  for (const WireRecord& record : Records()) ExpectRecordHolds(record);
}

TEST(RecordedSession, CoversEveryField) {
  EXPECT_THAT(NotRecorded(ProtoFilesBelow(LOSSSCALER_TEST_DATA "/../../server",
                                          "store"),
                          Records()),
              IsEmpty())
      << "tests/data/wire/README.md says how to record them";
}

TEST(RecordedSession, IsReadByTheStore) {
  const std::vector<WireRecord> records = Records();
  ASSERT_THAT(records, Not(IsEmpty()));
  for (const WireRecord& record : records) {
    if (record.message != "lossscaler.store.SessionRecord") continue;
    EXPECT_TRUE(DecodeSession(record.bytes).ok()) << record.line;
  }
  const absl::StatusOr<SessionState> state = DecodeSession(records[0].bytes);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->name, "team/project/run");
  EXPECT_EQ(state->config.scale(), 4096.5);
  EXPECT_EQ(state->scaler.scale(), 1638.4);
  EXPECT_EQ(state->step, 100);
  EXPECT_EQ(state->base, 90);
  EXPECT_EQ(state->epoch, 3);
  EXPECT_EQ(state->applied, 60);
  EXPECT_EQ(state->skipped, 30);
  EXPECT_EQ(state->consecutive_skips, 4);
  EXPECT_EQ(state->revision, 104);
  EXPECT_EQ(state->create_request_id, "create-1");
  EXPECT_EQ(state->create_time, absl::FromUnixNanos(1'767'323'045'678'901'234));
  EXPECT_EQ(state->base_uid, "");
  EXPECT_FALSE(state->group.has_value()) << "it is older than groups";
}

}  // namespace
}  // namespace lossscaler::server
