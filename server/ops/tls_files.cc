// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/tls_files.h"

namespace lossscaler::server {

absl::StatusOr<TlsFiles::Files> TlsFiles::Read(const TlsPaths& paths) {
  absl::StatusOr<WatchedFile> cert = ReadWatchedFile("tls_cert", paths.cert);
  if (!cert.ok()) return cert.status();
  absl::StatusOr<WatchedFile> key = ReadWatchedFile("tls_key", paths.key);
  if (!key.ok()) return key.status();
  Files files{
      .cert = *std::move(cert), .key = *std::move(key), .client_ca = {}};
  if (!paths.client_ca.empty()) {
    absl::StatusOr<WatchedFile> client_ca =
        ReadWatchedFile("tls_client_ca", paths.client_ca);
    if (!client_ca.ok()) return client_ca.status();
    files.client_ca = *std::move(client_ca);
  }
  return files;
}

absl::StatusOr<TlsIdentity> TlsFiles::Check(const Files& files,
                                            absl::Time now) {
  absl::StatusOr<CertificateFacts> facts =
      CheckIdentity(files.cert, files.key, now);
  if (!facts.ok()) return facts.status();
  TlsIdentity identity{.chain = files.cert.text,
                       .key = files.key.text,
                       .client_ca = {},
                       .facts = *std::move(facts)};
  if (files.client_ca.has_value()) {
    const absl::Status usable = CheckAuthorities(*files.client_ca);
    if (!usable.ok()) return usable;
    identity.client_ca = files.client_ca->text;
  }
  return identity;
}

absl::StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::Open(
    const TlsPaths& paths, std::function<absl::Time()> now) {
  absl::StatusOr<std::unique_ptr<Identity>> identity =
      Identity::Open([paths] { return Read(paths); },
                     [now = std::move(now)](const Files& files) {
                       return Check(files, now());
                     });
  if (!identity.ok()) return identity.status();
  return std::unique_ptr<TlsFiles>(
      new TlsFiles(!paths.client_ca.empty(), *std::move(identity)));
}

}  // namespace lossscaler::server
