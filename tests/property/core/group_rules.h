// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GroupRules: what must hold of every write, whatever led to it.

#ifndef LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_RULES_H_
#define LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_RULES_H_

#include <cstdint>
#include <map>

#include "lossscaler/core/decision.h"

namespace lossscaler::simulation {

class GroupRules {
 public:
  // A live member's vote was taken, in this life of the server.
  void Taken(std::int64_t step, const Vote& vote);
  void ServerDied() { taken_.clear(); }

  // `change` is written over `before`.
  void Written(const SessionState& before, const Change& change);

  const std::map<std::int64_t, Decision>& journal() const { return journal_; }
  std::int64_t applied() const { return applied_; }

 private:
  void CheckState(const SessionState& before, const Change& change) const;
  void CheckVotes(const SessionState& before, const Decision& decision) const;
  void CheckApply(const SessionState& before, const Decision& decision) const;
  void CheckScale(const SessionState& before, const Change& change) const;

  std::map<std::int64_t, Decision> journal_;
  // By step and incarnation.
  std::map<std::pair<std::int64_t, std::int64_t>, Vote> taken_;
  std::int64_t applied_ = 0;
};

}  // namespace lossscaler::simulation

#endif  // LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_RULES_H_
