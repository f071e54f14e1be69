// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Looks at a database before anything may write to it.
//
// Nothing here changes a byte of the file or leaves a file beside it, whatever
// the file turns out to be: a database of somebody else's, a text, a wreck that
// can still be rescued.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_CHECK_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace lossscaler::server {

// Whether the file, if there is one, calls itself a database of ours that this
// release can use. Reads 100 bytes and needs no lock: SQLite is not involved.
//
// FAILED_PRECONDITION: not a database, not ours, or written by a newer release.
absl::Status RecogniseDatabase(const std::string& path);

// Whether a recognised database is whole: its structure, every session and
// every decision that LoadAll() would return.
//
// Above 256 MiB only the structure of the sessions is checked, since reading
// a long journal would delay the start by minutes; damage in the rest shows
// when it is read.
//
// DATA_LOSS: it is damaged. REQUIRES: the caller holds the state directory.
absl::Status CheckDatabase(const std::string& path);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_CHECK_H_
