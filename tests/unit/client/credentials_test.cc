// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/credentials.h"

#include <fstream>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::TempDirectory;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCertificate[] =
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
constexpr char kKey[] =
    "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n";

class CredentialsTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name, std::string_view text) {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  TempDirectory directory_;
};

TEST_F(CredentialsTest, ReadsEachFileIntoItsField) {
  const std::string ca = std::string("two of them\n") + kCertificate;
  const std::string key =
      "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\n";
  const auto tls = ReadTlsFiles(File("ca", ca), File("chain", kCertificate),
                                File("key", key));
  ASSERT_THAT(tls, IsOk());
  EXPECT_EQ(tls->ca_certificates, ca);
  EXPECT_EQ(tls->certificate_chain, kCertificate);
  EXPECT_EQ(tls->private_key, key);
}

TEST_F(CredentialsTest, WhatIsNotGivenStaysEmpty) {
  const auto none = ReadTlsFiles("", "", "");
  ASSERT_THAT(none, IsOk());
  EXPECT_EQ(none->ca_certificates, "");
  const auto identity =
      ReadTlsFiles("", File("chain", kCertificate), File("key", kKey));
  ASSERT_THAT(identity, IsOk());
  EXPECT_EQ(identity->ca_certificates, "");
  EXPECT_EQ(identity->private_key, kKey);
}

TEST_F(CredentialsTest, ACertificateAndItsKeyComeTogether) {
  const auto no_key = ReadTlsFiles("", File("chain", kCertificate), "");
  EXPECT_THAT(no_key, IsErrorSaying(Reason::kInvalidCredentials, "key file"));
  EXPECT_EQ(MetadataOf(no_key.status()).at("file"),
            directory_.path() + "/chain");
  EXPECT_THAT(
      ReadTlsFiles("", "", File("key", kKey)),
      IsErrorSaying(Reason::kInvalidCredentials, "certificate file too"));
}

TEST_F(CredentialsTest, NamesAFileThatCannotBeRead) {
  EXPECT_THAT(ReadTlsFiles(directory_.path() + "/none", "", ""),
              IsErrorSaying(Reason::kInvalidCredentials, "/none"));
  EXPECT_THAT(ReadTlsFiles(directory_.path(), "", ""),
              IsErrorSaying(Reason::kInvalidCredentials, "directory"));
  EXPECT_THAT(ReadTokenFile(""), IsError(Reason::kInvalidCredentials));
}

TEST_F(CredentialsTest, RefusesWhatHasNoPemBlockOfItsKind) {
  for (const std::string_view text :
       {std::string_view(), std::string_view(kKey),
        std::string_view("-----BEGIN CERTIFICATE-----\nMIIB\n"),
        std::string_view("-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n"
                         "-----END CERTIFICATE REQUEST-----\n"),
        std::string_view("-----BEGIN ")}) {
    EXPECT_THAT(ReadTlsFiles(File("ca", text), "", ""),
                IsErrorSaying(Reason::kInvalidCredentials,
                              "-----BEGIN CERTIFICATE-----"))
        << text;
  }
  EXPECT_THAT(ReadTlsFiles("", File("chain", kKey), File("key", kCertificate)),
              IsErrorSaying(Reason::kInvalidCredentials, "has no certificate"));
  EXPECT_THAT(
      ReadTlsFiles("", File("chain", kCertificate), File("key", kCertificate)),
      IsErrorSaying(Reason::kInvalidCredentials, "PRIVATE KEY-----"));
}

// gRPC would try it with no passphrase and say nothing that helps.
TEST_F(CredentialsTest, RefusesAnEncryptedKey) {
  const std::string chain = File("chain", kCertificate);
  for (const std::string_view key :
       {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4C\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMC4C\n"
        "-----END RSA PRIVATE KEY-----\n"}) {
    EXPECT_THAT(ReadTlsFiles("", chain, File("key", key)),
                IsErrorSaying(Reason::kInvalidCredentials, "is encrypted"));
  }
}

TEST_F(CredentialsTest, ReadsOneMebibyteAndNoMore) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  std::string text = kCertificate;
  text.resize(kLimit, '\n');
  EXPECT_THAT(ReadTlsFiles(File("ca", text), "", ""), IsOk());
  text += '\n';
  EXPECT_THAT(ReadTlsFiles(File("ca", text), "", ""),
              IsErrorSaying(Reason::kInvalidCredentials, "1048576"));
}

TEST_F(CredentialsTest, ReadsATokenWithoutTheBlanksAroundIt) {
  const auto token = ReadTokenFile(File("token", " \tab.C-1_~+/=\r\n\n"));
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(*token, "ab.C-1_~+/=");
}

TEST_F(CredentialsTest, RefusesWhatIsNoTokenWithoutRepeatingIt) {
  const std::string long_token(4097, 's');
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, " \n"sv, "s3cret s3cret"sv, "s3cret\ns3cret"sv, "s3cret\x7F!"sv,
        "s3cr\xC3\xA9t"sv, "s3cret\0!"sv, std::string_view(long_token)}) {
    const auto token = ReadTokenFile(File("token", text));
    ASSERT_THAT(token, IsErrorSaying(Reason::kInvalidCredentials, "/token"));
    EXPECT_THAT(token.status().ToString(), Not(HasSubstr("s3cr")));
    EXPECT_THAT(token.status().ToString(), Not(HasSubstr("ssss")));
  }
  EXPECT_THAT(ReadTokenFile(File("token", std::string(4096, 's'))), IsOk());
}

}  // namespace
}  // namespace lossscaler
