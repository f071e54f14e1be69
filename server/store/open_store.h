// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Opens the store that the configuration names.

#ifndef LOSSSCALER_SERVER_STORE_OPEN_STORE_H_
#define LOSSSCALER_SERVER_STORE_OPEN_STORE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "store/sqlite_options.h"
#include "store/store.h"

namespace lossscaler::server {

// `spec` is "memory", "sqlite:DIR" or "sqlite", which means the default folder
// of state_directory.h. INVALID_ARGUMENT for any other; otherwise as
// OpenSqliteStore().
absl::StatusOr<std::unique_ptr<Store>> OpenStore(std::string_view spec,
                                                 const SqliteOptions& options);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_OPEN_STORE_H_
