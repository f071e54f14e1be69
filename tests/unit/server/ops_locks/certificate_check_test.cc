// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/certificate_check.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/certificates.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::Authority;
using lossscaler::testing::HasCode;
using lossscaler::testing::IsOk;
using lossscaler::testing::KeyPair;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CertificateCheckTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { authority_ = new Authority("ours"); }
  static void TearDownTestSuite() {
    delete authority_;
    authority_ = nullptr;
  }

  static WatchedFile File(std::string_view setting, const std::string& text,
                          unsigned int others_may = 0) {
    return {.setting = setting,
            .path = "/etc/" + std::string(setting) + ".pem",
            .text = text,
            .others_may = others_may};
  }

  static absl::StatusOr<CertificateFacts> Check(const std::string& chain,
                                                const std::string& key,
                                                absl::Time now = absl::Now()) {
    return CheckIdentity(File("tls_cert", chain), File("tls_key", key), now);
  }

  // The whole error for `chain` and `key`, which starts with the setting and
  // its file, and repeats no line of either.
  static void ExpectRefused(const std::string& chain, const std::string& key,
                            const std::string& setting, const std::string& says,
                            absl::Time now = absl::Now()) {
    const auto facts = Check(chain, key, now);
    ASSERT_THAT(facts, HasCode(absl::StatusCode::kInvalidArgument)) << says;
    const std::string message(facts.status().message());
    EXPECT_THAT(message,
                AllOf(StartsWith(setting + ": \"/etc/" + setting + ".pem\" "),
                      HasSubstr(says)));
    for (const std::string& secret : {chain, key}) {
      for (std::size_t at = 0; at + 20 < secret.size(); ++at) {
        // Not the dashes around labels, which are the same in every file.
        const std::string piece = secret.substr(at, 20);
        if (piece.find('-') != std::string::npos) continue;
        ASSERT_THAT(message, Not(HasSubstr(piece)));
      }
    }
  }

  static Authority* authority_;
  const KeyPair good_ = authority_->Issue({.name = "scaler", .serial = 0xbeef});
};

Authority* CertificateCheckTest::authority_ = nullptr;

TEST_F(CertificateCheckTest, AGoodPairIsKnownByItsFacts) {
  const absl::Time until = absl::FromUnixSeconds(4'000'000'000);
  const KeyPair pair = authority_->Issue(
      {.name = "scaler", .not_after = until, .serial = 0xbeef});
  const auto facts = Check(pair.certificate, pair.key);
  ASSERT_THAT(facts, IsOk());
  EXPECT_EQ(facts->subject, "CN=scaler");
  EXPECT_EQ(facts->serial, "BEEF");
  EXPECT_EQ(facts->not_after, until);
}

TEST_F(CertificateCheckTest, AChainAndTextAroundBlocksAreNoHarm) {
  EXPECT_THAT(Check("# Ours\n" + good_.certificate + "\nand above:\n" +
                        authority_->certificate(),
                    "key\n" + good_.key),
              IsOk());
  // Both in one file, given twice.
  const std::string both = good_.certificate + good_.key;
  EXPECT_THAT(Check(both, both), IsOk());
}

TEST_F(CertificateCheckTest, SwappedFilesAreRecognised) {
  ExpectRefused(good_.key, good_.certificate, "tls_cert",
                "holds a private key where a certificate chain is expected");
  ExpectRefused(good_.certificate, good_.certificate, "tls_key",
                "holds a certificate where a private key is expected");
}

TEST_F(CertificateCheckTest, OtherTextIsNeither) {
  for (const std::string text : {"", "hello", "-----BEGIN"}) {
    ExpectRefused(text, good_.key, "tls_cert", "holds no certificate");
    ExpectRefused(good_.certificate, text, "tls_key", "holds no private key");
  }
}

TEST_F(CertificateCheckTest, BlocksThatWereCutOffOrChangedAreRefused) {
  const auto cut = [](const std::string& pem) {
    return pem.substr(0, pem.size() / 2);
  };
  ExpectRefused(cut(good_.certificate), good_.key, "tls_cert",
                "block 1 of this PEM file cannot be read");
  ExpectRefused(good_.certificate + cut(good_.certificate), good_.key,
                "tls_cert", "block 2 of this PEM file cannot be read");
  ExpectRefused(good_.certificate, cut(good_.key), "tls_key",
                "block 1 of this PEM file cannot be read");
  ExpectRefused(
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
      good_.key, "tls_cert", "block 1 is no X.509 certificate");
  ExpectRefused(
      good_.certificate,
      "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n",
      "tls_key", "holds a private key that cannot be read");
}

TEST_F(CertificateCheckTest, AKeyOfAnotherCertificateIsRefused) {
  ExpectRefused(good_.certificate, authority_->Issue({}).key, "tls_key",
                "is not the key of the first certificate in "
                "/etc/tls_cert.pem");
  // The authority's certificate must not come first.
  ExpectRefused(authority_->certificate() + good_.certificate, good_.key,
                "tls_key", "the server's own certificate first");
}

TEST_F(CertificateCheckTest, AnEncryptedKeyIsRefusedWithoutAskingAnybody) {
  ExpectRefused(good_.certificate, lossscaler::testing::Encrypted(good_.key),
                "tls_key", "is encrypted");
}

TEST_F(CertificateCheckTest, ACertificateCountsOnlyInItsTime) {
  const absl::Time from = absl::FromUnixSeconds(1'000'000'000);
  const absl::Time until = absl::FromUnixSeconds(1'000'003'600);
  const KeyPair pair =
      authority_->Issue({.not_before = from, .not_after = until});
  EXPECT_THAT(Check(pair.certificate, pair.key, from), IsOk());
  EXPECT_THAT(Check(pair.certificate, pair.key, until), IsOk());
  ExpectRefused(pair.certificate, pair.key, "tls_cert",
                "is not valid before 2001-09-09T01:46:40Z",
                from - absl::Seconds(1));
  ExpectRefused(pair.certificate, pair.key, "tls_cert",
                "expired at 2001-09-09T02:46:40Z", until + absl::Seconds(1));
}

TEST_F(CertificateCheckTest, ACertificateForClientsOnlyIsRefused) {
  const KeyPair client =
      authority_->Issue({.extended_key_usage = "clientAuth"});
  ExpectRefused(client.certificate, client.key, "tls_cert",
                "is not one for TLS servers");
  const KeyPair server =
      authority_->Issue({.extended_key_usage = "serverAuth"});
  EXPECT_THAT(Check(server.certificate, server.key), IsOk());
}

// OpenSSL's security level in Debian wants 112 bits of strength.
TEST_F(CertificateCheckTest, WhatOpenSslFindsTooWeakIsRefused) {
  const KeyPair weak = authority_->Issue({.rsa_bits = 1024});
  ExpectRefused(weak.certificate, weak.key, "tls_cert",
                "OpenSSL does not take it");
}

TEST_F(CertificateCheckTest, AKeyThatOthersMayReadIsRefused) {
  const auto refusal = [](const WatchedFile& chain, const WatchedFile& key) {
    const auto facts = CheckIdentity(chain, key, absl::Now());
    EXPECT_THAT(facts, HasCode(absl::StatusCode::kInvalidArgument));
    return std::string(facts.status().message());
  };
  EXPECT_THAT(refusal(File("tls_cert", good_.certificate),
                      File("tls_key", good_.key, 4)),
              AllOf(StartsWith("tls_key: "), HasSubstr("chmod o= ")));
  // A certificate is for everybody, but not with a key beside it.
  EXPECT_THAT(CheckIdentity(File("tls_cert", good_.certificate, 4),
                            File("tls_key", good_.key), absl::Now()),
              IsOk());
  EXPECT_THAT(refusal(File("tls_cert", good_.certificate + good_.key, 4),
                      File("tls_key", good_.key)),
              AllOf(StartsWith("tls_cert: "), HasSubstr("chmod o= ")));
}

TEST_F(CertificateCheckTest, AuthoritiesAreAtLeastOneCertificate) {
  EXPECT_THAT(
      CheckAuthorities(File(
          "tls_client_ca",
          authority_->certificate() + Authority("theirs").certificate(), 4)),
      IsOk());
  const auto refusal = [](const std::string& text) {
    return std::string(CheckAuthorities(File("tls_client_ca", text)).message());
  };
  EXPECT_THAT(refusal(""), HasSubstr("holds no certificate where at least one "
                                     "certificate authority is expected"));
  EXPECT_THAT(refusal(good_.key), HasSubstr("holds a private key where"));
  EXPECT_THAT(refusal(authority_->certificate() +
                      "-----BEGIN CERTIFICATE-----\nMIIB\n"),
              HasSubstr("block 2 of this PEM file cannot be read"));
}

}  // namespace
}  // namespace lossscaler::server
