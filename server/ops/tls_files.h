// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// TlsFiles: who the server is to clients, and which clients it knows, by files
// that may change while it runs.
//
// The files count together: a certificate without its key, as it is between
// two copies, leaves the pair before in force.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_TLS_FILES_H_
#define LOSSSCALER_SERVER_OPS_TLS_FILES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "ops/certificate_check.h"
#include "ops/reloadable.h"
#include "ops/watched_file.h"

namespace lossscaler::server {

struct TlsPaths {
  std::string cert;
  std::string key;
  // Empty: clients need no certificate.
  std::string client_ca;
};

// PEM, checked. Holds the private key: not for messages.
struct TlsIdentity {
  std::string chain;
  std::string key;
  // Empty: clients need no certificate.
  std::string client_ca;
  CertificateFacts facts;
};

class TlsFiles {
 public:
  // Errors are for the operator, as in certificate_check.h. Tests inject a
  // clock.
  static absl::StatusOr<std::unique_ptr<TlsFiles>> Open(
      const TlsPaths& paths, std::function<absl::Time()> now = absl::Now);

  // Whether every client must show a certificate; never changes.
  bool wants_client_certificates() const { return wants_client_certificates_; }

  // What is in force.
  std::shared_ptr<const TlsIdentity> Get() const { return identity_->Get(); }

  // Looks at the files again: see Reloadable.
  std::optional<absl::Status> Refresh() { return identity_->Refresh(); }

 private:
  struct Files {
    WatchedFile cert, key;
    std::optional<WatchedFile> client_ca;
    friend bool operator==(const Files&, const Files&) = default;
  };
  using Identity = Reloadable<Files, TlsIdentity>;

  static absl::StatusOr<Files> Read(const TlsPaths& paths);
  static absl::StatusOr<TlsIdentity> Check(const Files& files, absl::Time now);

  TlsFiles(bool wants_client_certificates, std::unique_ptr<Identity> identity)
      : wants_client_certificates_(wants_client_certificates),
        identity_(std::move(identity)) {}

  const bool wants_client_certificates_;
  const std::unique_ptr<Identity> identity_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_TLS_FILES_H_
