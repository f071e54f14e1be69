// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A session whose scale is 4, so that results are exact, and an admission that
// has everything back in the end.

#ifndef LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_UNSCALE_FIXTURE_H_
#define LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_UNSCALE_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/solo.h"
#include "sessions/session.h"
#include "sessions/stream_admission.h"
#include "sessions/unscale_stream.h"
#include "store/memory_store.h"
#include "testing/caught.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {

class UnscaleFixture : public ::testing::Test {
 protected:
  UnscaleFixture() {
    testing::Caught<absl::StatusOr<SessionSnapshot>> created;
    session_->Create(NewSession("run", "uid", *LossScaler::Static(4.0), "",
                                absl::UnixEpoch()),
                     created.Callback());
    EXPECT_THAT(created.at(0), testing::IsOk());
  }

  ~UnscaleFixture() override {
    // Whatever happened: nothing stays reserved.
    EXPECT_THAT(admission_.bytes_in_flight(), ::testing::Eq(0));
  }

  std::string NextId() { return absl::StrCat("s", ++streams_); }

  static StreamTensor Tensor(std::string name, std::int64_t count,
                             std::vector<ElementRange> ranges = {}) {
    return {.name = std::move(name),
            .element_count = count,
            .ranges = std::move(ranges)};
  }

  absl::StatusOr<UpdateAnswer> VoteBy(std::vector<std::string> stream_ids) {
    Vote vote;
    vote.stream_ids = std::move(stream_ids);
    testing::Caught<absl::StatusOr<UpdateAnswer>> caught;
    session_->Update(session_->Snapshot()->state.step, vote, caught.Callback());
    EXPECT_THAT(caught.size(), ::testing::Eq(1u));
    return caught.at(0);
  }

  MemoryStore store_;
  ByteBudget ledger_budget_{1 << 20};
  Session::Environment environment_{.store = &store_,
                                    .ledger_budget = &ledger_budget_,
                                    .now = [] { return absl::UnixEpoch(); },
                                    .retry_delay = absl::Seconds(1)};
  std::shared_ptr<Session> session_ =
      std::make_shared<Session>("run", &environment_);
  StreamAdmission admission_{Limits{.max_bytes_in_flight = 64 << 20,
                                    .max_tensors_per_stream = 100,
                                    .retry_delay = absl::Seconds(2)}};
  int streams_ = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_UNSCALE_FIXTURE_H_
