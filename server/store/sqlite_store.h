// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The durable store: DIR/lossscaler.db, an SQLite database in WAL mode with
// synchronous=FULL, or NORMAL with relaxed durability. A write that was
// answered kDone survives a kill and, with full durability, a power loss.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_STORE_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "store/sqlite_options.h"
#include "store/store.h"

namespace lossscaler::server {

// Opens the state in a folder, which is created if it is missing and locked
// until the store is destroyed. Destroying it finishes what was committed
// and folds the log into the database file.
//
// The message of every error names the file, says what is wrong and what to do.
// A database of an older release is brought up to date; that release cannot use
// it any more.
//
// FAILED_PRECONDITION: another server holds the folder, or the database is
// somebody else's or a newer release's. DATA_LOSS: it is damaged. In these
// cases it is left byte for byte as it was. Other codes: the file system
// refused.
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(
    const std::string& directory, const SqliteOptions& options);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_STORE_H_
