// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/credentials.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/bearer_token.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

constexpr char kCertificateBlock[] =
    "a PEM block from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----";
constexpr char kKeyBlock[] =
    "a PEM block from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----,"
    " not encrypted";
constexpr char kTokenLine[] =
    "one line of at most 4096 printable ASCII characters without blanks";

absl::Status FileError(std::string_view what, const std::string& path,
                       std::string_view wrong, std::string_view expected) {
  return MakeError(
      Reason::kInvalidCredentials,
      absl::StrCat(std::string(what), " ", Quoted(path), " ",
                   std::string(wrong), "; expected ", std::string(expected)),
      {{"file", path}, {"expected", std::string(expected)}});
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

absl::StatusOr<std::string> ReadFile(std::string_view what,
                                     const std::string& path,
                                     std::string_view expected) {
  const auto unreadable = [&] {
    return FileError(
        what, path, absl::StrCat("cannot be read (", std::strerror(errno), ")"),
        expected);
  };
  // A name with a zero byte would be another file's.
  if (path.find('\0') != std::string::npos) {
    return FileError(what, path, "is no file name", expected);
  }
  const std::unique_ptr<std::FILE, FileCloser> file(
      std::fopen(path.c_str(), "re"));
  if (file == nullptr) return unreadable();
  std::string text(kMaxFileBytes + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return unreadable();
  if (text.size() > kMaxFileBytes) {
    return FileError(what, path,
                     absl::StrCat("has more than ", kMaxFileBytes, " bytes"),
                     expected);
  }
  return text;
}

// Whether `text` has a whole PEM block whose label is `label`, or ends in it
// after a blank.
bool HasPemBlock(std::string_view text, std::string_view label) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kDashes = "-----";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    const std::size_t from = at + kBegin.size();
    const std::size_t to = text.find(kDashes, from);
    if (to == std::string_view::npos) return false;
    const std::string_view found = text.substr(from, to - from);
    const bool wanted =
        found == label || (found.ends_with(label) &&
                           found[found.size() - label.size() - 1] == ' ');
    const std::string end =
        absl::StrCat("-----END ", std::string(found), "-----");
    if (wanted && text.find(end, to) != std::string_view::npos) return true;
  }
  return false;
}

absl::StatusOr<std::string> ReadCertificates(std::string_view what,
                                             const std::string& path) {
  absl::StatusOr<std::string> pem = ReadFile(what, path, kCertificateBlock);
  if (pem.ok() && !HasPemBlock(*pem, "CERTIFICATE")) {
    return FileError(what, path, "has no certificate", kCertificateBlock);
  }
  return pem;
}

absl::StatusOr<std::string> ReadPrivateKey(const std::string& path) {
  constexpr std::string_view kWhat = "private key file";
  absl::StatusOr<std::string> pem = ReadFile(kWhat, path, kKeyBlock);
  if (!pem.ok()) return pem;
  if (!HasPemBlock(*pem, "PRIVATE KEY")) {
    return FileError(kWhat, path, "has no private key", kKeyBlock);
  }
  // Nobody could be asked for a passphrase.
  if (pem->find("-----BEGIN ENCRYPTED ") != std::string::npos ||
      pem->find("Proc-Type: 4,ENCRYPTED") != std::string::npos) {
    return FileError(kWhat, path, "is encrypted", kKeyBlock);
  }
  return pem;
}

}  // namespace

absl::StatusOr<TlsOptions> ReadTlsFiles(const std::string& ca_file,
                                        const std::string& certificate_file,
                                        const std::string& key_file) {
  if (certificate_file.empty() && !key_file.empty()) {
    return FileError("private key file", key_file, "came alone",
                     "a certificate file too, or neither");
  }
  if (key_file.empty() && !certificate_file.empty()) {
    return FileError("certificate file", certificate_file, "came alone",
                     "a private key file too, or neither");
  }
  TlsOptions tls;
  if (!ca_file.empty()) {
    absl::StatusOr<std::string> pem = ReadCertificates("CA file", ca_file);
    if (!pem.ok()) return pem.status();
    tls.ca_certificates = *std::move(pem);
  }
  if (certificate_file.empty()) return tls;
  absl::StatusOr<std::string> chain =
      ReadCertificates("certificate file", certificate_file);
  if (!chain.ok()) return chain.status();
  absl::StatusOr<std::string> key = ReadPrivateKey(key_file);
  if (!key.ok()) return key.status();
  tls.certificate_chain = *std::move(chain);
  tls.private_key = *std::move(key);
  return tls;
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  constexpr std::string_view kWhat = "token file";
  const absl::StatusOr<std::string> text = ReadFile(kWhat, path, kTokenLine);
  if (!text.ok()) return text.status();
  std::string token(absl::StripAsciiWhitespace(*text));
  const std::string wrong = internal::WhatIsWrongWithToken(token);
  if (!wrong.empty()) return FileError(kWhat, path, wrong, kTokenLine);
  return token;
}

}  // namespace lossscaler
