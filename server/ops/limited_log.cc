// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/limited_log.h"

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "ops/flood_limit.h"

namespace lossscaler::server {
namespace {

// Never destroyed: gRPC's threads may log until the very end.
FloodLimit& TheLimit() {
  static FloodLimit* const limit = new FloodLimit;
  return *limit;
}

// At the level of what was left out: who reads no warnings misses none.
void Tell(const std::vector<FloodLimit::Suppressed>& all) {
  for (const FloodLimit::Suppressed& one : all) {
    const std::string since = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                                               one.since, absl::UTCTimeZone());
    Log(one.level, "log_suppressed",
        {{"suppressed", one.event}, {"count", one.count}, {"since", since}});
  }
}

}  // namespace

void LimitedLog(LogLevel level, std::string_view event, LogFields fields) {
  if (!LogEnabled(level)) return;
  const absl::Time now = absl::Now();
  const bool admitted = TheLimit().Admit(level, event, now);
  Tell(TheLimit().TakeDue(now));
  if (admitted) Log(level, event, fields);
}

void TellSuppressed() { Tell(TheLimit().TakeDue(absl::Now())); }

void TellAllSuppressed() { Tell(TheLimit().TakeAll()); }

}  // namespace lossscaler::server
