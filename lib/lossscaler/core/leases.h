// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Leases: until when each member of a group may be silent.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CORE_LEASES_H_
#define LOSSSCALER_CORE_LEASES_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace lossscaler {

class Leases {
 public:
  // Begins a lease, or lets one run until `end` if that is later.
  void Renew(std::int64_t incarnation, absl::Time end);
  void Drop(std::int64_t incarnation);

  bool Has(std::int64_t incarnation) const {
    return ends_.contains(incarnation);
  }
  // What is left at `now`; zero if it is over, or if there is none.
  absl::Duration Left(std::int64_t incarnation, absl::Time now) const;
  // When the first of them is over. InfiniteFuture: there is none.
  absl::Time FirstEnd() const;
  // Those that are over at `now`.
  std::vector<std::int64_t> Over(absl::Time now) const;

  // All of them run that much longer.
  void Postpone(absl::Duration duration);

 private:
  std::map<std::int64_t, absl::Time> ends_;
  // The same by time.
  std::set<std::pair<absl::Time, std::int64_t>> order_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_LEASES_H_
