// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Looks at certificates and keys before gRPC does, which would only say that
// something is wrong.
//
// Errors name the file, what is wrong and what to do; none repeats what a file
// contains.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_CERTIFICATE_CHECK_H_
#define LOSSSCALER_SERVER_OPS_CERTIFICATE_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ops/watched_file.h"

namespace lossscaler::server {

// What an operator knows a certificate by.
struct CertificateFacts {
  // As RFC 2253 writes it: "CN=loss-scaler,O=Example".
  std::string subject;
  // In hexadecimal digits.
  std::string serial;
  absl::Time not_after;
};

// Whether `chain` is a certificate for TLS servers that is valid at `now`, and
// those that lead from it to an authority, if any, and `key` its private key,
// not encrypted, which others must not be able to read. The facts are those of
// the first certificate.
absl::StatusOr<CertificateFacts> CheckIdentity(const WatchedFile& chain,
                                               const WatchedFile& key,
                                               absl::Time now);

// Whether it holds at least one certificate, and each can be read.
absl::Status CheckAuthorities(const WatchedFile& authorities);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CERTIFICATE_CHECK_H_
