// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/tls_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/certificates.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::Authority;
using lossscaler::testing::HasCode;
using lossscaler::testing::IsOk;
using lossscaler::testing::KeyPair;
using lossscaler::testing::WriteFile;
using ::testing::HasSubstr;
using ::testing::Optional;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() {
    WriteFile(paths_.cert, first_.certificate, 0644);
    WriteFile(paths_.key, first_.key);
    WriteFile(paths_.client_ca, authority_.certificate(), 0644);
    tls_ = *TlsFiles::Open(paths_, [this] { return now_; });
  }

  void ExpectRefusedOnce(const std::string& says) {
    const auto news = tls_->Refresh();
    ASSERT_THAT(news, Optional(HasCode(absl::StatusCode::kInvalidArgument)))
        << says;
    EXPECT_THAT(std::string(news->message()), HasSubstr(says));
    EXPECT_EQ(tls_->Refresh(), std::nullopt) << says;
    EXPECT_EQ(tls_->Get()->chain, first_.certificate) << says;
    EXPECT_EQ(tls_->Get()->key, first_.key) << says;
  }

  const lossscaler::testing::TempDirectory directory_;
  const TlsPaths paths_ = {.cert = directory_.path() + "/cert.pem",
                           .key = directory_.path() + "/key.pem",
                           .client_ca = directory_.path() + "/ca.pem"};
  const Authority authority_{"ours"};
  const KeyPair first_ = authority_.Issue({.name = "first", .serial = 1});
  const KeyPair second_ = authority_.Issue({.name = "second", .serial = 2});
  absl::Time now_ = absl::Now();
  std::unique_ptr<TlsFiles> tls_;
};

TEST_F(TlsFilesTest, HoldsWhatTheFilesSay) {
  const auto identity = tls_->Get();
  EXPECT_EQ(identity->chain, first_.certificate);
  EXPECT_EQ(identity->key, first_.key);
  EXPECT_EQ(identity->client_ca, authority_.certificate());
  EXPECT_EQ(identity->facts.subject, "CN=first");
  EXPECT_TRUE(tls_->wants_client_certificates());
  EXPECT_EQ(tls_->Refresh(), std::nullopt);
}

TEST_F(TlsFilesTest, WithoutAuthoritiesClientsNeedNoCertificate) {
  const auto tls = TlsFiles::Open({.cert = paths_.cert, .key = paths_.key});
  ASSERT_THAT(tls, IsOk());
  EXPECT_FALSE((*tls)->wants_client_certificates());
  EXPECT_EQ((*tls)->Get()->client_ca, "");
}

TEST_F(TlsFilesTest, AHalfRotatedPairWaitsForItsOtherHalf) {
  WriteFile(paths_.cert, second_.certificate);
  ExpectRefusedOnce("is not the key of the first certificate");
  WriteFile(paths_.key, second_.key);
  EXPECT_THAT(tls_->Refresh(), Optional(IsOk()));
  EXPECT_EQ(tls_->Get()->chain, second_.certificate);
  EXPECT_EQ(tls_->Get()->key, second_.key);
  EXPECT_EQ(tls_->Get()->facts.serial, "02");
  EXPECT_EQ(tls_->Refresh(), std::nullopt);
}

TEST_F(TlsFilesTest, OtherAuthoritiesComeIntoForceToo) {
  const Authority other("theirs");
  WriteFile(paths_.client_ca, other.certificate());
  EXPECT_THAT(tls_->Refresh(), Optional(IsOk()));
  EXPECT_EQ(tls_->Get()->client_ca, other.certificate());
}

TEST_F(TlsFilesTest, BadFilesLeaveThePairBeforeInForce) {
  WriteFile(paths_.cert, first_.key);
  ExpectRefusedOnce("have the files been swapped?");
  ASSERT_EQ(unlink(paths_.cert.c_str()), 0);
  ExpectRefusedOnce("No such file");
  WriteFile(paths_.cert, first_.certificate);
  EXPECT_THAT(tls_->Refresh(), Optional(IsOk()));
  WriteFile(paths_.key, first_.key, 0644);
  ExpectRefusedOnce("chmod o= ");
  WriteFile(paths_.key, first_.key);
  WriteFile(paths_.client_ca, "none");
  ExpectRefusedOnce("at least one certificate authority");
}

TEST_F(TlsFilesTest, ACertificateThatIsNotValidYetComesIntoForceWhenItIs) {
  const KeyPair later =
      authority_.Issue({.not_before = now_ + absl::Seconds(60)});
  WriteFile(paths_.cert, later.certificate);
  WriteFile(paths_.key, later.key);
  ExpectRefusedOnce("not valid before");
  now_ += absl::Seconds(61);
  EXPECT_THAT(tls_->Refresh(), Optional(IsOk()));
  EXPECT_EQ(tls_->Get()->chain, later.certificate);
}

TEST_F(TlsFilesTest, TheOneInForceStaysWhenItExpires) {
  now_ = absl::Now() + absl::Hours(24 * 365);
  EXPECT_EQ(tls_->Refresh(), std::nullopt);
  EXPECT_THAT(TlsFiles::Open(paths_, [this] { return now_; }),
              HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace lossscaler::server
