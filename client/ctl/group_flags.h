// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What `create` is told about the group, if the session is one.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_GROUP_FLAGS_H_
#define LOSSSCALER_CTL_GROUP_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "lossscaler/core/group.h"

namespace lossscaler::ctl {

struct GroupFlags {
  // Makes the session a group.
  std::optional<std::int64_t> max_workers;
  // Unset: max_workers.
  std::optional<std::int64_t> min_workers;
  // The rest; its own numbers of workers are not looked at.
  GroupConfig config;
  // A flag that was given beside max_workers; empty: none.
  std::string given;
};

void AddGroupFlags(CLI::App* create, GroupFlags* flags);

// nullopt: a solo session. What is wrong with the group is said by the server;
// INVALID_ARGUMENT here is about the command line.
absl::StatusOr<std::optional<GroupConfig>> MakeGroup(const GroupFlags& flags);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_GROUP_FLAGS_H_
