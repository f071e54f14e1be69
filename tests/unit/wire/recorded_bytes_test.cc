// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Clients and servers of other releases speak the recorded bytes.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/rpc/error_details.pb.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"
#include "testing/wire_records.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::ExpectRecordHolds;
using ::lossscaler::testing::NotRecorded;
using ::lossscaler::testing::ProtoFilesBelow;
using ::lossscaler::testing::ReadWireRecords;
using ::lossscaler::testing::WireRecord;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<WireRecord> Records() {
  // Links the files in.
  (void)v1::GetServerInfoRequest::descriptor();
  (void)rpc::Status::descriptor();
  return ReadWireRecords(LOSSSCALER_TEST_DATA "/wire/messages.txt");
}

std::vector<std::string> Files() {
  return ProtoFilesBelow(LOSSSCALER_TEST_DATA "/../../proto", "lossscaler");
}

TEST(RecordedBytes, StillMeanWhatTheyMeant) {
  for (const WireRecord& record : Records()) ExpectRecordHolds(record);
}

TEST(RecordedBytes, CoverEveryMessageFieldAndEnumerator) {
  EXPECT_THAT(NotRecorded(Files(), Records()), IsEmpty())
      << "tests/data/wire/README.md says how to record them";
}

TEST(RecordedBytes, AreMissedWhereTheyAreMissing) {
  std::vector<WireRecord> records = Records();
  std::erase_if(records, [](const WireRecord& record) {
    return record.message != "lossscaler.v1.Base" &&
           record.message != "lossscaler.v1.Vote";
  });
  std::erase_if(records, [](const WireRecord& record) {
    return record.text.find("stream_ids") != std::string::npos;
  });
  const std::vector<std::string> missing = NotRecorded(Files(), records);
  EXPECT_THAT(missing, Contains("lossscaler.v1.Current"));
  EXPECT_THAT(missing, Contains("lossscaler.v1.Vote.stream_ids"));
  EXPECT_THAT(missing, Contains("lossscaler.v1.Vote.base = zero"));
  EXPECT_THAT(missing, Contains("lossscaler.v1.VERDICT_OVERFLOW"));
  EXPECT_THAT(missing, Not(Contains("lossscaler.v1.Vote.base")));
  EXPECT_THAT(missing, Not(Contains("lossscaler.v1.Base.step")));
}

}  // namespace
}  // namespace lossscaler
