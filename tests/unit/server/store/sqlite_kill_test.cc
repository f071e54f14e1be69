// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// kill -9 in the middle of everything: whatever was acknowledged is there.

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "sqlite_fixture.h"
#include "store_fixture.h"
#include "testing/child_process.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::ChildProcess;
using ::lossscaler::testing::IsOk;

class SqliteKillTest : public SqliteTest {
 protected:
  static constexpr char kUid[] = "u1";

  // Decides steps until it is killed and tells each one it was acknowledged.
  void DecideForEver(int fd) const {
    const std::unique_ptr<Store> store = MustOpen();
    absl::StatusOr<std::optional<StoredSession>> stored = store->Reload(kUid);
    if (!stored.ok()) _exit(1);
    SessionState state =
        stored->has_value() ? (*stored)->state
                            : Put(store.get(), Creation(NewState("run", kUid)));
    for (;;) {
      const Write write = NextStep(state);
      if (Commit(store.get(), write).result != WriteResult::kDone) _exit(1);
      ChildProcess::Tell(
          fd, {reinterpret_cast<const char*>(&state.step), sizeof(state.step)});
      state = write.state;
    }
  }

  // The last step in `bytes`, which are steps one after the other.
  static std::int64_t LastStep(const std::string& bytes) {
    std::int64_t step = 0;
    const std::size_t whole = bytes.size() / sizeof(step) * sizeof(step);
    if (whole > 0) {
      std::memcpy(&step, bytes.data() + whole - sizeof(step), sizeof(step));
    }
    return step;
  }
};

TEST_F(SqliteKillTest, HasEveryAcknowledgedDecisionAfterAKill) {
  std::int64_t acknowledged = 0;
  for (int round = 1; round <= 5; ++round) {
    {
      ChildProcess child([this](int fd) { DecideForEver(fd); });
      // Let it run a different while each time, measured in its own work.
      std::string bytes;
      char buffer[512];
      while (bytes.size() < 8u * 37u * static_cast<unsigned>(round)) {
        const std::size_t got = child.Read(buffer, sizeof(buffer));
        ASSERT_GT(got, 0u) << "the child ended by itself";
        bytes.append(buffer, got);
      }
      child.Kill();
      bytes += child.ReadAll();
      ASSERT_GT(LastStep(bytes), acknowledged);
      acknowledged = LastStep(bytes);
    }
    const std::unique_ptr<Store> store = MustOpen();
    // Each child was a start, and so is each look.
    EXPECT_EQ(store->start_count(), 2 * round);
    for (std::int64_t step = 1; step <= acknowledged; ++step) {
      const absl::StatusOr<std::optional<Decision>> decision =
          store->FindDecision(kUid, step);
      ASSERT_THAT(decision, IsOk());
      ASSERT_TRUE(decision->has_value()) << "step " << step << " is lost";
    }
    // One more may have been written before its acknowledgement.
    const StoredSession stored = store->Reload(kUid).value().value();
    ASSERT_FALSE(stored.recent.empty());
    const Decision& last = stored.recent.back();
    EXPECT_GE(last.step, acknowledged);
    EXPECT_LE(last.step, acknowledged + 1);
    EXPECT_EQ(stored.state.step, last.step + 1);
    EXPECT_EQ(stored.state.base, last.base_after);
    EXPECT_EQ(stored.state.applied, last.applied);
    EXPECT_EQ(stored.state.scaler.scale(), last.scale_after);
  }
}

}  // namespace
}  // namespace lossscaler::server
