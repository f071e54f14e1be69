// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/open_store.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/state_directory.h"

namespace lossscaler::server {

absl::StatusOr<std::unique_ptr<Store>> OpenStore(std::string_view spec,
                                                 const SqliteOptions& options) {
  constexpr std::string_view kSqlitePrefix = "sqlite:";
  if (spec == "memory") return std::make_unique<MemoryStore>();
  if (spec == "sqlite") {
    absl::StatusOr<std::string> directory =
        DefaultStateDirectory(CurrentUserEnvironment());
    if (!directory.ok()) return directory.status();
    return OpenSqliteStore(*directory, options);
  }
  if (spec.starts_with(kSqlitePrefix) && spec.size() > kSqlitePrefix.size()) {
    return OpenSqliteStore(std::string(spec.substr(kSqlitePrefix.size())),
                           options);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", std::string(spec),
      "' names no store; use memory, sqlite or sqlite:DIR, where DIR is a "
      "folder for the state"));
}

}  // namespace lossscaler::server
