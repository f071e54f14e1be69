// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/certificates.h"

#include <cstdlib>

#include "openssl/bio.h"
#include "openssl/pem.h"
#include "openssl/rsa.h"
#include "openssl/x509v3.h"

namespace lossscaler::testing {
namespace {

using SharedKey = std::shared_ptr<EVP_PKEY>;
using SharedX509 = std::shared_ptr<X509>;

void Must(bool done) {
  if (!done) std::abort();
}

SharedKey NewKey(int rsa_bits) {
  EVP_PKEY* const key =
      rsa_bits > 0 ? EVP_RSA_gen(static_cast<unsigned int>(rsa_bits))
                   : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  Must(key != nullptr);
  return {key, EVP_PKEY_free};
}

template <typename Write>
std::string Pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()),
                                                      BIO_free);
  Must(write(bio.get()) == 1);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string CertificatePem(X509* certificate) {
  return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string KeyPem(EVP_PKEY* key, const std::string& passphrase = "") {
  return Pem([&](BIO* bio) {
    return passphrase.empty()
               ? PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0,
                                          nullptr, nullptr)
               : PEM_write_bio_PKCS8PrivateKey(
                     bio, key, EVP_aes_128_cbc(), passphrase.c_str(),
                     static_cast<int>(passphrase.size()), nullptr, nullptr);
  });
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  Must(extension != nullptr);
  Must(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Without extensions, and not signed.
SharedX509 NewCertificate(const CertificateRequest& request, EVP_PKEY* key) {
  SharedX509 result(X509_new(), X509_free);
  X509* const certificate = result.get();
  Must(X509_set_version(certificate, X509_VERSION_3) == 1);
  Must(ASN1_INTEGER_set(X509_get_serialNumber(certificate), request.serial) ==
       1);
  Must(ASN1_TIME_set(X509_getm_notBefore(certificate),
                     absl::ToTimeT(request.not_before)) != nullptr);
  Must(ASN1_TIME_set(X509_getm_notAfter(certificate),
                     absl::ToTimeT(request.not_after)) != nullptr);
  Must(X509_NAME_add_entry_by_txt(
           X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
           // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
           reinterpret_cast<const unsigned char*>(request.name.c_str()), -1, -1,
           0) == 1);
  Must(X509_set_pubkey(certificate, key) == 1);
  return result;
}

}  // namespace

Authority::Authority(const std::string& name)
    : key_(NewKey(0)),
      certificate_(NewCertificate({.name = name, .serial = 1}, key_.get())) {
  X509* const certificate = certificate_.get();
  Must(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) ==
       1);
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  Must(X509_sign(certificate, key_.get(), EVP_sha256()) > 0);
  pem_ = CertificatePem(certificate);
}

KeyPair Authority::Issue(const CertificateRequest& request) const {
  const SharedKey key = NewKey(request.rsa_bits);
  const SharedX509 certificate = NewCertificate(request, key.get());
  Must(X509_set_issuer_name(certificate.get(),
                            X509_get_subject_name(certificate_.get())) == 1);
  AddExtension(certificate.get(), NID_subject_alt_name,
               "IP:127.0.0.1,DNS:localhost");
  if (!request.extended_key_usage.empty()) {
    AddExtension(certificate.get(), NID_ext_key_usage,
                 request.extended_key_usage);
  }
  Must(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0);
  return {.certificate = CertificatePem(certificate.get()),
          .key = KeyPem(key.get())};
}

std::string Encrypted(const std::string& key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(key.data(), static_cast<int>(key.size())), BIO_free);
  const SharedKey read(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  Must(read != nullptr);
  return KeyPem(read.get(), "passphrase");
}

}  // namespace lossscaler::testing
