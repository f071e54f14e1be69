// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/file_refresher.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "ops/log.h"
#include "testing/certificates.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::Authority;
using lossscaler::testing::KeyPair;
using lossscaler::testing::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileRefresherTest : public ::testing::Test {
 protected:
  // sha256sum of "one" and of "two".
  static constexpr char kOne[] =
      "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
  static constexpr char kTwo[] =
      "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3";

  static std::string TokenWithHash(const std::string& hash) {
    return absl::StrCat("[[token]]\nname = \"n", hash.substr(0, 4),
                        "\"\nrole = \"viewer\"\nsha256 = \"", hash, "\"\n");
  }

  void WritePair(const KeyPair& pair) {
    WriteFile(paths_.cert, pair.certificate);
    WriteFile(paths_.key, pair.key);
  }

  // What Look() logs.
  std::vector<nlohmann::json> Events(FileRefresher* refresher) {
    ConfigureLog(LogFormat::kJson, LogLevel::kDebug);
    ::testing::internal::CaptureStderr();
    refresher->Look();
    std::istringstream written(::testing::internal::GetCapturedStderr());
    ConfigureLog(LogFormat::kText, LogLevel::kInfo);
    std::vector<nlohmann::json> events;
    for (std::string line; std::getline(written, line);) {
      events.push_back(nlohmann::json::parse(line));
      all_ += line;
    }
    return events;
  }

  std::vector<std::string> EventNames(FileRefresher* refresher) {
    std::vector<std::string> names;
    for (const auto& event : Events(refresher)) names.push_back(event["event"]);
    return names;
  }

  const lossscaler::testing::TempDirectory directory_;
  const std::string token_path_ = directory_.path() + "/tokens.toml";
  const TlsPaths paths_ = {.cert = directory_.path() + "/cert.pem",
                           .key = directory_.path() + "/key.pem"};
  const Authority authority_{"ours"};
  // Everything logged.
  std::string all_;
};

TEST_F(FileRefresherTest, LogsWhatBecomesOfTheTokens) {
  WriteFile(token_path_, TokenWithHash(kOne));
  const auto tokens = *TokenFile::Open(token_path_);
  FileRefresher refresher(tokens.get(), nullptr);
  EXPECT_THAT(Events(&refresher), IsEmpty());

  WriteFile(token_path_, TokenWithHash(kOne) + TokenWithHash(kTwo));
  const auto reloaded = Events(&refresher);
  ASSERT_EQ(reloaded.size(), 1u);
  EXPECT_EQ(reloaded[0]["event"], "tokens_reloaded");
  EXPECT_EQ(reloaded[0]["level"], "info");
  EXPECT_EQ(reloaded[0]["tokens"], 2);

  WriteFile(token_path_, TokenWithHash(std::string(kOne) + "0"));
  const auto failed = Events(&refresher);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0]["event"], "tokens_reload_failed");
  EXPECT_EQ(failed[0]["level"], "error");
  EXPECT_THAT(failed[0]["error"].get<std::string>(),
              HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(Events(&refresher), IsEmpty());
  EXPECT_THAT(all_, Not(HasSubstr(kOne)));
}

TEST_F(FileRefresherTest, LogsWhatBecomesOfCertificates) {
  WritePair(authority_.Issue({.serial = 1}));
  const auto tls = *TlsFiles::Open(paths_);
  FileRefresher refresher(nullptr, tls.get());
  EXPECT_THAT(Events(&refresher), IsEmpty());

  const KeyPair next =
      authority_.Issue({.name = "next",
                        .not_after = absl::FromUnixSeconds(4'000'000'000),
                        .serial = 0x1234});
  WriteFile(paths_.cert, next.certificate);
  EXPECT_THAT(EventNames(&refresher), ElementsAre("tls_reload_failed"));
  EXPECT_THAT(Events(&refresher), IsEmpty());
  WriteFile(paths_.key, next.key);
  const auto reloaded = Events(&refresher);
  ASSERT_EQ(reloaded.size(), 1u);
  EXPECT_EQ(reloaded[0]["event"], "tls_reloaded");
  EXPECT_EQ(reloaded[0]["level"], "info");
  EXPECT_EQ(reloaded[0]["subject"], "CN=next");
  EXPECT_EQ(reloaded[0]["serial"], "1234");
  // date -u -d @4000000000
  EXPECT_EQ(reloaded[0]["not_after"], "2096-10-02T07:06:40Z");
}

TEST_F(FileRefresherTest, RemindsOfACertificateThatExpires) {
  const absl::Time now = absl::Now();
  WritePair(authority_.Issue({.not_after = now + absl::Hours(24 * 6)}));
  const auto tls = *TlsFiles::Open(paths_);
  FileRefresher refresher(nullptr, tls.get());
  EXPECT_THAT(EventNames(&refresher), ElementsAre("tls_certificate_expires"));
  EXPECT_THAT(Events(&refresher), IsEmpty());
}

TEST_F(FileRefresherTest, SaysThatTheCertificateInForceHasExpired) {
  const absl::Time end = absl::Now() - absl::Hours(1);
  WritePair(authority_.Issue(
      {.not_before = end - absl::Hours(24), .not_after = end}));
  // Opened while it was valid.
  const auto tls =
      *TlsFiles::Open(paths_, [=] { return end - absl::Seconds(1); });
  FileRefresher refresher(nullptr, tls.get());
  const auto events = Events(&refresher);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["event"], "tls_certificate_expired");
  EXPECT_EQ(events[0]["level"], "error");
}

}  // namespace
}  // namespace lossscaler::server
