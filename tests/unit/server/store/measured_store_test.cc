// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/measured_store.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "store/open_store.h"
#include "store_fixture.h"
#include "testing/faulty_store.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::FaultyStore;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Pair;

class MeasuredStoreTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Store> memory_ = *OpenStore("memory", {});
  FaultyStore* const faulty_ = new FaultyStore(memory_.get());
  std::vector<std::pair<absl::Duration, WriteResult>> writes_;
  MeasuredStore store_{std::unique_ptr<Store>(faulty_),
                       [this](absl::Duration took, WriteResult result) {
                         writes_.emplace_back(took, result);
                       }};
};

TEST_F(MeasuredStoreTest, TellsOfEachWriteAndHowItEnded) {
  std::vector<WriteResult> answers;
  const auto done = [&answers](WriteResult result, const absl::Status&) {
    answers.push_back(result);
  };
  const SessionState session = NewState("a", "1");
  store_.Commit(Creation(session), done);
  faulty_->FailNextWrite(FaultyStore::Fault::kNotWritten);
  store_.Commit(NextStep(session), done);
  faulty_->FailNextWrite(FaultyStore::Fault::kWrittenUnknown);
  store_.Commit(NextStep(session), done);
  EXPECT_THAT(answers, ElementsAre(WriteResult::kDone, WriteResult::kNotDone,
                                   WriteResult::kUnknown));
  EXPECT_THAT(
      writes_,
      ElementsAre(Pair(Ge(absl::ZeroDuration()), WriteResult::kDone),
                  Pair(Ge(absl::ZeroDuration()), WriteResult::kNotDone),
                  Pair(Ge(absl::ZeroDuration()), WriteResult::kUnknown)));
}

TEST_F(MeasuredStoreTest, TimeRunsFromTheHandOverToTheAnswer) {
  faulty_->Hold();
  bool answered = false;
  store_.Commit(Creation(NewState("a", "1")),
                [this, &answered](WriteResult, const absl::Status&) {
                  answered = true;
                  // Before whoever waits for the write goes on.
                  EXPECT_THAT(writes_.size(), 1u);
                });
  EXPECT_THAT(writes_.size(), 0u);
  faulty_->Release();
  EXPECT_TRUE(answered);
}

TEST_F(MeasuredStoreTest, EverythingElseIsTheStoreInIt) {
  store_.Commit(Creation(NewState("a", "1")),
                [](WriteResult, const absl::Status&) {});
  EXPECT_EQ(store_.name(), "memory");
  EXPECT_EQ(store_.durability(), "none");
  EXPECT_EQ(store_.start_count(), memory_->start_count());
  EXPECT_EQ(store_.LoadAll()->size(), 1u);
  EXPECT_EQ((*store_.Reload("1"))->state.name, "a");
  EXPECT_TRUE(store_.Health().ok());
  faulty_->FailNextWrite(FaultyStore::Fault::kNotWritten);
  store_.Commit(NextStep(NewState("a", "1")),
                [](WriteResult, const absl::Status&) {});
  EXPECT_FALSE(store_.Health().ok());
}

}  // namespace
}  // namespace lossscaler::server
