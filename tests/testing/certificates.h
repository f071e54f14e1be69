// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Certificates, made when a test wants them.
//
// Thread safety: immutable.

#ifndef LOSSSCALER_TESTS_TESTING_CERTIFICATES_H_
#define LOSSSCALER_TESTS_TESTING_CERTIFICATES_H_

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "openssl/evp.h"
#include "openssl/x509.h"

namespace lossscaler::testing {

// For 127.0.0.1 and localhost.
struct CertificateRequest {
  std::string name = "server";
  absl::Time not_before = absl::Now() - absl::Hours(1);
  absl::Time not_after = absl::Now() + absl::Hours(24 * 30);
  int serial = 1;
  // "serverAuth", "clientAuth"; empty: for everything.
  std::string extended_key_usage = "";
  // 0: an elliptic curve that nobody objects to.
  int rsa_bits = 0;
};

// PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  explicit Authority(const std::string& name);

  // PEM.
  const std::string& certificate() const { return pem_; }
  KeyPair Issue(const CertificateRequest& request) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
  std::string pem_;
};

// `key` as openssl writes it with a passphrase.
std::string Encrypted(const std::string& key);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_CERTIFICATES_H_
