// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// lossscalerd as a process with certificates and tokens: what it refuses to
// start with, what it reloads, and that it tells nobody a secret.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "app.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/error.h"
#include "ops/config.h"
#include "ops/exit_code.h"
#include "testing/certificates.h"
#include "testing/child_process.h"
#include "testing/poll_until.h"
#include "testing/read_file.h"
#include "testing/server_process.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::Authority;
using lossscaler::testing::InChild;
using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using lossscaler::testing::KeyPair;
using lossscaler::testing::PollUntil;
using lossscaler::testing::ServerProcess;
using lossscaler::testing::TempDirectory;
using lossscaler::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "wSZ2-a_token_that_nobody_may_see";
constexpr char kTokenHash[] =
    "6a44e7dbd51b0e3dc739a4767ad2a4d6e2a2b7131cff1f4dd6ad2e71222658dd";
constexpr char kNewToken[] = "Qm41-another_that_nobody_may_see";
constexpr char kNewTokenHash[] =
    "14f6ec4d59f698abd8a0427e35ecc5dfa14f8608ec8e049a03f795807cf151f1";

std::string AdminToken(const std::string& name, const std::string& hash) {
  return absl::StrCat("[[token]]\nname = \"", name,
                      "\"\nrole = \"admin\"\nsha256 = \"", hash, "\"\n");
}

class SecurityProcessTest : public ::testing::Test {
 protected:
  SecurityProcessTest() {
    WritePair(good_);
    WriteFile(client_ca_, authority_.certificate(), 0644);
    WriteFile(tokens_, AdminToken("ops", kTokenHash));
  }

  void WritePair(const KeyPair& pair) {
    WriteFile(cert_, pair.certificate, 0644);
    WriteFile(key_, pair.key);
  }

  std::unique_ptr<ServerProcess> Start(
      const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "--store=memory",    "--listen=127.0.0.1:0",
        "--log-format=json", "--log-level=debug",
        "--ready-file",      ready_,
        "--tls-cert",        cert_,
        "--tls-key",         key_,
        "--tls-client-ca",   client_ca_,
        "--token-file",      tokens_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    // gRPC's own messages, too.
    return std::make_unique<ServerProcess>(
        LOSSSCALER_BINARY_DIR "/server/lossscalerd", directory_.path(),
        arguments, std::vector<std::string>{"GRPC_VERBOSITY=DEBUG"});
  }

  // What a client with this token is told by the server at `address`.
  absl::Status Ask(const std::string& address, const std::string& token,
                   const std::optional<KeyPair>& identity) {
    ClientOptions options;
    options.address = address;
    options.unavailable_budget = absl::Milliseconds(500);
    options.token = token;
    options.tls.emplace();
    options.tls->ca_certificates = authority_.certificate();
    if (identity.has_value()) {
      options.tls->certificate_chain = identity->certificate;
      options.tls->private_key = identity->key;
    }
    return MakeConnection(options)->GetServerInfo().status();
  }

  static bool WaitForEvent(const ServerProcess& server,
                           const std::string& event) {
    return PollUntil(std::chrono::seconds(30), [&] {
      return server.Err().find(absl::StrCat("\"event\":\"", event, "\"")) !=
             std::string::npos;
    });
  }

  const TempDirectory directory_;
  const std::string cert_ = directory_.path() + "/cert.pem";
  const std::string key_ = directory_.path() + "/key.pem";
  const std::string client_ca_ = directory_.path() + "/client-ca.pem";
  const std::string tokens_ = directory_.path() + "/tokens.toml";
  const std::string ready_ = directory_.path() + "/ready";
  const Authority authority_{"ours"};
  const KeyPair good_ = authority_.Issue({.name = "scaler"});
  const KeyPair client_ = authority_.Issue({.name = "client"});
};

TEST_F(SecurityProcessTest, DoesNotStartWithFilesThatCannotBeUsed) {
  const absl::Time now = absl::Now();
  const KeyPair expired =
      authority_.Issue({.not_before = now - absl::Hours(48),
                        .not_after = now - absl::Hours(24)});
  struct BadFile {
    std::string path;
    std::string text;
    mode_t mode;
    std::string says;
  };
  const std::vector<BadFile> cases = {
      {cert_, good_.key, 0640, "have the files been swapped?"},
      {cert_, "nothing", 0640, "holds no certificate"},
      {cert_, expired.certificate, 0640, "is not the key of the first"},
      {key_, good_.certificate, 0640, "have the files been swapped?"},
      {key_, good_.key, 0644, "every user of this machine may read it"},
      {key_, lossscaler::testing::Encrypted(good_.key), 0640, "is encrypted"},
      {client_ca_, "", 0640, "at least one certificate authority"},
      {tokens_, AdminToken("ops", kTokenHash), 0644, "chmod o= "},
      {tokens_, AdminToken("ops", "12"), 0640, "line 1: sha256 must be"},
      {tokens_, "", 0640, "nobody could call"},
      {tokens_, kToken, 0640, "line 1: this is not TOML"},
  };
  for (const BadFile& bad : cases) {
    const std::string before = lossscaler::testing::ReadFile(bad.path);
    WriteFile(bad.path, bad.text, bad.mode);
    const auto server = Start();
    EXPECT_EQ(server->Wait(), 1) << bad.says;
    EXPECT_THAT(server->Err(),
                AllOf(HasSubstr(bad.path), HasSubstr(bad.says),
                      Not(HasSubstr(kToken)), Not(HasSubstr(kTokenHash))));
    WriteFile(bad.path, before);
  }
  WritePair(expired);
  const auto server = Start();
  EXPECT_EQ(server->Wait(), 1);
  EXPECT_THAT(server->Err(), HasSubstr("the certificate expired at "));
}

TEST_F(SecurityProcessTest, DoesNotStartWithFilesThatAreNotThere) {
  for (const std::string& path : {cert_, key_, client_ca_, tokens_}) {
    const std::string before = lossscaler::testing::ReadFile(path);
    ASSERT_EQ(unlink(path.c_str()), 0);
    const auto server = Start();
    EXPECT_EQ(server->Wait(), 1) << path;
    EXPECT_THAT(server->Err(),
                AllOf(HasSubstr(path), HasSubstr("No such file or directory")));
    WriteFile(path, before);
  }
}

// Tests run as root, who may read everything.
TEST_F(SecurityProcessTest, DoesNotStartWithFilesOfAnotherUser) {
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(client_ca_.c_str(), 0644), 0);
  for (const std::string& path : {key_, tokens_}) {
    const mode_t nobody = geteuid() == 0 ? 0600 : 0000;
    ASSERT_EQ(chmod(path.c_str(), nobody), 0);
    const std::string outcome = InChild([&]() -> std::string {
      if (geteuid() == 0 && setuid(65534) != 0) return "cannot change the user";
      Config config;
      config.listen = {"127.0.0.1:0"};
      config.admin_listen = "";
      config.store = "memory";
      if (path == tokens_) {
        config.token_file = tokens_;
      } else {
        config.tls_cert = cert_;
        config.tls_key = key_;
      }
      const absl::Status status = App::Start(config).status();
      return absl::StrCat(static_cast<int>(ExitCodeOf(status)), " ",
                          std::string(status.message()));
    });
    EXPECT_THAT(outcome, AllOf(::testing::StartsWith("1 "), HasSubstr(path),
                               HasSubstr("Permission denied")));
  }
}

TEST_F(SecurityProcessTest, ReloadsWhileItServesAndNeverTellsASecret) {
  const auto server = Start();
  const auto addresses = server->WaitUntilReady(ready_);
  ASSERT_EQ(addresses.size(), 1u) << server->Err();
  const std::string& address = addresses[0];
  std::string told;
  const auto ask = [&](const std::string& token,
                       const std::optional<KeyPair>& identity) {
    const absl::Status status = Ask(address, token, identity);
    absl::StrAppend(&told, status.ToString(), "\n");
    return status;
  };
  EXPECT_THAT(ask(kToken, client_), IsOk());
  EXPECT_THAT(ask("", client_), IsError(Reason::kTokenRequired));
  EXPECT_THAT(ask(kNewToken, client_), IsError(Reason::kTokenUnknown));
  EXPECT_THAT(ask(kToken, std::nullopt),
              IsError(Reason::kUnavailableBudgetSpent));

  WriteFile(tokens_, AdminToken("ops", std::string(kNewTokenHash) + "0"));
  EXPECT_TRUE(WaitForEvent(*server, "tokens_reload_failed"));
  EXPECT_THAT(ask(kToken, client_), IsOk());
  WriteFile(tokens_, AdminToken("next", kNewTokenHash));
  EXPECT_TRUE(WaitForEvent(*server, "tokens_reloaded"));
  EXPECT_THAT(ask(kToken, client_), IsError(Reason::kTokenUnknown));
  EXPECT_THAT(ask(kNewToken, client_), IsOk());

  const Authority next("next");
  const KeyPair renewed = next.Issue({.name = "renewed"});
  WriteFile(cert_, renewed.key);
  EXPECT_TRUE(WaitForEvent(*server, "tls_reload_failed"));
  EXPECT_THAT(ask(kNewToken, client_), IsOk());
  WritePair(renewed);
  EXPECT_TRUE(WaitForEvent(*server, "tls_reloaded"));
  EXPECT_THAT(server->Err(), HasSubstr("CN=renewed"));
  EXPECT_THAT(ask(kNewToken, client_),
              IsError(Reason::kUnavailableBudgetSpent));

  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0);
  absl::StrAppend(&told, server->Out(), server->Err());
  const auto printing = Start({"--print-config"});
  EXPECT_EQ(printing->Wait(), 0);
  EXPECT_THAT(printing->Out(), HasSubstr(tokens_));
  absl::StrAppend(&told, printing->Out(), printing->Err());

  std::set<std::string> secrets = {kToken, kTokenHash, kNewToken,
                                   kNewTokenHash};
  for (const KeyPair& pair : {good_, client_, renewed}) {
    for (const absl::string_view line : absl::StrSplit(pair.key, '\n')) {
      if (line.size() > 20 && line[0] != '-') secrets.emplace(line);
    }
  }
  EXPECT_GE(secrets.size(), 4u + 3 * 2u);
  for (const std::string& secret : secrets) {
    EXPECT_THAT(told, Not(HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace lossscaler::server
