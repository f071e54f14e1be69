// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The first and the last write of a server to its database.
//
// With relaxed durability the database holds, for as long as commits may not be
// on disk, which life of the machine they were made in. Whoever finds another
// life's name there knows that some may be missing.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_START_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_START_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_options.h"

namespace lossscaler::server {

// Takes a database into use, in one transaction: brings its tables up to date,
// marks every session as possibly stale if commits may be missing, and counts
// the start. Afterwards commits are as durable as the options say. Returns how
// often the database was taken into use.
//
// FAILED_PRECONDITION: relaxed durability on a machine that does not say which
// life it is in. REQUIRES: commits are fully durable so far.
absl::StatusOr<std::int64_t> StartDatabase(SqliteConnection* connection,
                                           const SqliteOptions& options);

// Puts every commit on disk and says so in the database. Where that fails the
// database goes on saying the opposite.
//
// REQUIRES: StartDatabase() succeeded, and nobody writes any more.
void SettleDatabase(SqliteConnection* connection);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_START_H_
