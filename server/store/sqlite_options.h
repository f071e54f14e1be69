// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// How an sqlite store behaves.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_OPTIONS_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace lossscaler::server {

// What a write that was answered kDone survives.
enum class Durability {
  // A killed server and a power loss.
  kFull,
  // A killed server. A power loss may take the latest writes; the sessions are
  // then loaded as possibly stale.
  kRelaxed,
};

struct SqliteOptions {
  Durability durability = Durability::kFull;
  // Which life of the machine this is; empty: what MachineBootId() says.
  std::string boot_id;

  // Decisions of a session that are kept: this many and this old, whichever is
  // less, but never fewer than kReplayableDecisions. Pruned every
  // kPruneInterval steps, so that up to that many more may be there.
  std::int64_t journal_decisions = 100'000;
  absl::Duration journal_age = absl::Hours(24 * 30);
  // How often a store that has failed is tried, > 0.
  absl::Duration probe_interval = absl::Seconds(1);

  // For tests, which need a real database to fail. Both are called once per
  // transaction, by whoever writes it.
  //
  // The number of pages beyond which the database may not grow (SQLITE_FULL).
  std::function<std::int64_t()> max_page_count;
  // The result of COMMIT; anything but SQLITE_OK is taken for it without
  // committing.
  std::function<int()> before_commit;
};

inline constexpr std::int64_t kPruneInterval = 256;

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_OPTIONS_H_
