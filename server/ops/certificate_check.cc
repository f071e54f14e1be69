// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/certificate_check.h"

#include <ctime>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "openssl/asn1.h"
#include "openssl/bio.h"
#include "openssl/bn.h"
#include "openssl/crypto.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/ssl.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace lossscaler::server {
namespace {

template <auto free_function>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free>>;
using X509Ptr = std::unique_ptr<X509, FreeWith<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using BignumPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;

// gRPC's code on this thread finds OpenSSL's queue of errors as it was.
class OpenSslErrors {
 public:
  OpenSslErrors() { ERR_set_mark(); }
  ~OpenSslErrors() { ERR_pop_to_mark(); }
  OpenSslErrors(const OpenSslErrors&) = delete;
  OpenSslErrors& operator=(const OpenSslErrors&) = delete;

  // OpenSSL's words for the last one, which never quote a file.
  std::string Last() const {
    const char* const text = ERR_reason_error_string(ERR_peek_last_error());
    return text == nullptr ? "no reason given" : text;
  }
};

BioPtr TextOf(const WatchedFile& file) {
  return BioPtr(
      BIO_new_mem_buf(file.text.data(), static_cast<int>(file.text.size())));
}

struct PemContents {
  std::vector<X509Ptr> certificates;
  bool has_key = false;
};

// One block of a PEM file.
struct PemBlock {
  PemBlock() = default;
  // It may be a key.
  ~PemBlock() {
    OPENSSL_free(label);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, static_cast<std::size_t>(size));
  }
  PemBlock(const PemBlock&) = delete;
  PemBlock& operator=(const PemBlock&) = delete;

  char* label = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;  // NOLINT(google-runtime-int): OpenSSL's type.
};

absl::StatusOr<PemContents> ReadPem(const WatchedFile& file) {
  const OpenSslErrors errors;
  const BioPtr bio = TextOf(file);
  PemContents contents;
  for (int count = 1;; ++count) {
    PemBlock block;
    if (PEM_read_bio(bio.get(), &block.label, &block.header, &block.data,
                     &block.size) != 1) {
      const auto error = ERR_peek_last_error();
      // How the end of the text is reported.
      if (ERR_GET_LIB(error) == ERR_LIB_PEM &&
          ERR_GET_REASON(error) == PEM_R_NO_START_LINE) {
        return contents;
      }
      return FileError(
          file,
          absl::StrCat("block ", count, " of this PEM file cannot be read: ",
                       errors.Last(), "; copy it whole and unchanged"));
    }
    const std::string_view label = block.label;
    if (label.ends_with("PRIVATE KEY")) contents.has_key = true;
    if (label != PEM_STRING_X509) continue;
    const unsigned char* data = block.data;
    X509Ptr certificate(d2i_X509(nullptr, &data, block.size));
    if (certificate == nullptr) {
      return FileError(file, absl::StrCat("block ", count,
                                          " is no X.509 certificate; copy it "
                                          "whole and unchanged"));
    }
    contents.certificates.push_back(std::move(certificate));
  }
}

absl::StatusOr<PemContents> ReadCertificates(const WatchedFile& file,
                                             std::string_view expected) {
  absl::StatusOr<PemContents> contents = ReadPem(file);
  if (!contents.ok() || !contents->certificates.empty()) return contents;
  return FileError(
      file,
      absl::StrCat(contents->has_key ? "holds a private key where "
                                     : "holds no certificate where ",
                   std::string(expected),
                   " is expected (PEM, -----BEGIN "
                   "CERTIFICATE-----)",
                   contents->has_key ? "; have the files been swapped?" : ""));
}

absl::StatusOr<KeyPtr> ReadKey(const WatchedFile& file) {
  const OpenSslErrors errors;
  const absl::StatusOr<PemContents> contents = ReadPem(file);
  if (!contents.ok()) return contents.status();
  if (!contents->has_key) {
    return FileError(
        file,
        absl::StrCat(contents->certificates.empty() ? "holds no private key"
                                                    : "holds a certificate",
                     " where a private key is expected (PEM, -----BEGIN "
                     "PRIVATE KEY-----)",
                     contents->certificates.empty()
                         ? ""
                         : "; have the files been swapped?"));
  }
  bool asked = false;
  // There is nobody to ask for a passphrase.
  const auto refuse = [](char*, int, int, void* asked_for) {
    *static_cast<bool*>(asked_for) = true;
    return -1;
  };
  const BioPtr bio = TextOf(file);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse, &asked));
  if (key != nullptr) return key;
  return FileError(
      file, asked ? "is encrypted, and there is nobody to ask for the "
                    "passphrase; decrypt it with openssl pkey"
                  : "holds a private key that cannot be read; copy it whole "
                    "and unchanged");
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm fields = {};
  if (ASN1_TIME_to_tm(time, &fields) != 1) return absl::InfinitePast();
  return absl::FromTM(fields, absl::UTCTimeZone());
}

std::string SubjectOf(const X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string SerialOf(const X509* certificate) {
  const BignumPtr number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (number == nullptr) return "";
  char* const digits = BN_bn2hex(number.get());
  std::string text = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  return text;
}

absl::Status CheckValidity(const WatchedFile& file, const X509* certificate,
                           absl::Time now) {
  const absl::Time from = TimeOf(X509_get0_notBefore(certificate));
  const absl::Time until = TimeOf(X509_get0_notAfter(certificate));
  const auto text = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
  };
  if (now > until) {
    return FileError(file, absl::StrCat("the certificate expired at ",
                                        text(until), "; renew it"));
  }
  if (now < from) {
    return FileError(
        file, absl::StrCat("the certificate is not valid before ", text(from),
                           "; is the clock of this machine right?"));
  }
  return absl::OkStatus();
}

// Takes certificates and key as gRPC will: what OpenSSL finds too weak, for
// example, is refused here, with the reason.
absl::Status CheckUsable(const WatchedFile& chain,
                         const std::vector<X509Ptr>& certificates,
                         EVP_PKEY* key) {
  const OpenSslErrors errors;
  const ContextPtr context(SSL_CTX_new(TLS_server_method()));
  bool taken =
      context != nullptr &&
      SSL_CTX_use_certificate(context.get(), certificates.front().get()) == 1;
  for (std::size_t i = 1; taken && i < certificates.size(); ++i) {
    taken = SSL_CTX_add1_chain_cert(context.get(), certificates[i].get()) == 1;
  }
  taken = taken && SSL_CTX_use_PrivateKey(context.get(), key) == 1;
  if (taken) return absl::OkStatus();
  return FileError(chain, absl::StrCat("OpenSSL does not take it: ",
                                       errors.Last(), "; make another"));
}

}  // namespace

absl::StatusOr<CertificateFacts> CheckIdentity(const WatchedFile& chain,
                                               const WatchedFile& key,
                                               absl::Time now) {
  const absl::StatusOr<PemContents> contents =
      ReadCertificates(chain, "a certificate chain");
  if (!contents.ok()) return contents.status();
  const absl::StatusOr<KeyPtr> private_key = ReadKey(key);
  if (!private_key.ok()) return private_key.status();
  // Both may be in one file.
  for (const WatchedFile* const secret :
       {&key, contents->has_key ? &chain : &key}) {
    const absl::Status closed = CheckClosedToOthers(*secret);
    if (!closed.ok()) return closed;
  }
  X509* const first = contents->certificates.front().get();
  const OpenSslErrors errors;
  if (X509_check_private_key(first, private_key->get()) != 1) {
    return FileError(
        key,
        absl::StrCat("is not the key of the first certificate in ", chain.path,
                     "; name a pair, the server's own certificate first"));
  }
  const absl::Status valid = CheckValidity(chain, first, now);
  if (!valid.ok()) return valid;
  if (X509_check_purpose(first, X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return FileError(chain,
                     "the first certificate is not one for TLS servers (key "
                     "usage); clients would refuse it");
  }
  const absl::Status usable =
      CheckUsable(chain, contents->certificates, private_key->get());
  if (!usable.ok()) return usable;
  return CertificateFacts{.subject = SubjectOf(first),
                          .serial = SerialOf(first),
                          .not_after = TimeOf(X509_get0_notAfter(first))};
}

absl::Status CheckAuthorities(const WatchedFile& authorities) {
  return ReadCertificates(authorities, "at least one certificate authority")
      .status();
}

}  // namespace lossscaler::server
