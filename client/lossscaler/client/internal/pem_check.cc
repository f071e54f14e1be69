// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/pem_check.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"

namespace lossscaler::internal {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

// The thread's queue of OpenSSL errors is the caller's: what happens here is
// taken out again.
class ErrorMark {
 public:
  ErrorMark() { ERR_set_mark(); }
  ~ErrorMark() { ERR_pop_to_mark(); }
  ErrorMark(const ErrorMark&) = delete;
  ErrorMark& operator=(const ErrorMark&) = delete;
};

// Nobody is asked for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

Bio Open(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

absl::Status Unusable(const std::string& part, const std::string& wrong,
                      const std::string& expected) {
  return MakeError(
      Reason::kInvalidCredentials,
      absl::StrCat(wrong, "; expected ", expected, "; nothing was sent"),
      {{"part", part}, {"expected", expected}});
}

// Reads every certificate of `pem` and keeps the first.
absl::Status ReadCertificates(const std::string& part, const std::string& pem,
                              Certificate* first) {
  const Bio bio = Open(pem);
  for (int count = 1;; ++count) {
    const ErrorMark mark;
    Certificate certificate(
        PEM_read_bio_X509_AUX(bio.get(), nullptr, NoPassphrase, nullptr));
    if (certificate != nullptr) {
      if (count == 1) *first = std::move(certificate);
      continue;
    }
    // How the end of the text is reported.
    const auto error = ERR_peek_last_error();
    const bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM &&
                        ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (at_end && count > 1) return absl::OkStatus();
    return Unusable(part,
                    at_end
                        ? absl::StrCat("there is no certificate in the ", part)
                        : absl::StrCat("certificate ", count, " of the ", part,
                                       " cannot be read"),
                    "X.509 certificates in PEM, whole and unchanged");
  }
}

absl::Status CheckKey(const std::string& pem, const Certificate& certificate) {
  const ErrorMark mark;
  const Bio bio = Open(pem);
  const Key key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) {
    return Unusable("private key", "the private key cannot be read",
                    "a private key in PEM, not encrypted");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Unusable("private key",
                    "the private key does not belong to the certificate",
                    "the key of the first certificate of the chain");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPem(const TlsOptions& tls) {
  Certificate first;
  if (!tls.ca_certificates.empty()) {
    const absl::Status status =
        ReadCertificates("CA certificates", tls.ca_certificates, &first);
    if (!status.ok()) return status;
  }
  if (tls.certificate_chain.empty()) return absl::OkStatus();
  const absl::Status status =
      ReadCertificates("certificate chain", tls.certificate_chain, &first);
  if (!status.ok()) return status;
  return CheckKey(tls.private_key, first);
}

}  // namespace lossscaler::internal
