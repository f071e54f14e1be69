// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Credentials from files, as ClientOptions takes them.
//
// Every error is INVALID_CREDENTIALS and names the file (metadata "file") and
// what was expected of it; no error repeats anything that a file contains.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_CREDENTIALS_H_
#define LOSSSCALER_CLIENT_CREDENTIALS_H_

#include <string>

#include "absl/status/statusor.h"
#include "lossscaler/client/options.h"

namespace lossscaler {

// Reads PEM files of at most 1 MiB each. An empty name: not given. A
// certificate and its key are given both or neither; the key must not be
// encrypted. What the blocks contain is only looked at by a connection:
// see TlsOptions.
absl::StatusOr<TlsOptions> ReadTlsFiles(const std::string& ca_file,
                                        const std::string& certificate_file,
                                        const std::string& key_file);

// Reads a bearer token: the only line of the file, without the blanks around
// it. Printable ASCII without blanks, at most 4 KiB.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_CREDENTIALS_H_
