// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Return;

constexpr char kEmptyCertificate[] =
    "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
constexpr char kEmptyKey[] =
    "-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----\n";

class CtlConnectionFlagsTest : public CtlTest {
 protected:
  CtlConnectionFlagsTest() {
    ON_CALL(*connection_, DeleteSession)
        .WillByDefault(Return(absl::OkStatus()));
    EXPECT_CALL(*connection_, DeleteSession).Times(::testing::AnyNumber());
  }

  // Runs a command that needs a connection; options_ are those it was made
  // with.
  int RunWith(std::vector<const char*> flags) {
    options_ = ClientOptions();
    flags.insert(flags.begin(), {"delete", "a"});
    return Run(flags);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  testing::TempDirectory directory_;
  const std::string ca_ = Write("ca.pem", kEmptyCertificate);
  const std::string certificate_ = Write("cert.pem", kEmptyCertificate);
  const std::string key_ = Write("key.pem", kEmptyKey);
  const std::string token_ = Write("token", "  from-file\n");
};

TEST_F(CtlConnectionFlagsTest, HasDefaults) {
  EXPECT_EQ(RunWith({}), kDone);
  EXPECT_EQ(options_.address, "127.0.0.1:50551");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(10));
  EXPECT_EQ(options_.unary_deadline, absl::Seconds(10));
  EXPECT_EQ(options_.stream_stall_timeout, absl::Seconds(10));
  EXPECT_FALSE(options_.tls.has_value());
  EXPECT_EQ(options_.token, "");
  EXPECT_EQ(options_.call_id, "");
}

TEST_F(CtlConnectionFlagsTest, StandBeforeAndAfterTheCommand) {
  EXPECT_EQ(Run({"--address", "unix:/s", "--deadline", "2s", "delete", "a"}),
            kDone);
  EXPECT_EQ(options_.address, "unix:/s");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(2));
  EXPECT_EQ(Run({"delete", "--deadline=3s", "a", "--address", "h:1"}), kDone);
  EXPECT_EQ(options_.address, "h:1");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(3));
}

TEST_F(CtlConnectionFlagsTest, FlagBeatsVariableBeatsDefault) {
  const ScopedVariable address("LOSSSCALER_ADDRESS", "from-variable:1");
  const ScopedVariable deadline("LOSSSCALER_DEADLINE", "7s");
  EXPECT_EQ(RunWith({}), kDone);
  EXPECT_EQ(options_.address, "from-variable:1");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(7));
  EXPECT_EQ(RunWith({"--address", "from-flag:1", "--deadline", "8s"}), kDone);
  EXPECT_EQ(options_.address, "from-flag:1");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(8));
}

TEST_F(CtlConnectionFlagsTest, ACallIdComesFromTheFlagOrTheVariable) {
  EXPECT_EQ(RunWith({"--call-id", "job-1"}), kDone);
  EXPECT_EQ(options_.call_id, "job-1");
  const ScopedVariable variable("LOSSSCALER_CALL_ID", "job-2");
  EXPECT_EQ(RunWith({}), kDone);
  EXPECT_EQ(options_.call_id, "job-2");
  EXPECT_EQ(RunWith({"--call-id", "job-3"}), kDone);
  EXPECT_EQ(options_.call_id, "job-3");
}

TEST_F(CtlConnectionFlagsTest, AnEmptyVariableIsNone) {
  const ScopedVariable address("LOSSSCALER_ADDRESS", "");
  const ScopedVariable deadline("LOSSSCALER_DEADLINE", "");
  const ScopedVariable tls("LOSSSCALER_TLS", "");
  const ScopedVariable ca("LOSSSCALER_CA_FILE", "");
  const ScopedVariable token("LOSSSCALER_TOKEN", "");
  const ScopedVariable file("LOSSSCALER_TOKEN_FILE", "");
  EXPECT_EQ(RunWith({}), kDone);
  EXPECT_EQ(options_.address, "127.0.0.1:50551");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(10));
  EXPECT_FALSE(options_.tls.has_value());
  EXPECT_EQ(options_.token, "");
}

TEST_F(CtlConnectionFlagsTest, AnEmptyFlagIsWrongUsage) {
  for (const char* flag : {"--address", "--deadline", "--ca", "--cert", "--key",
                           "--token-file", "--call-id"}) {
    EXPECT_EQ(RunWith({flag, ""}), kWrongUsage) << flag;
    EXPECT_THAT(err_.str(), HasSubstr(flag));
  }
}

TEST_F(CtlConnectionFlagsTest, ADeadlineBoundsEveryWait) {
  EXPECT_EQ(RunWith({"--deadline", "1m30s"}), kDone);
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(90));
  EXPECT_EQ(options_.unary_deadline, absl::Seconds(10));
  EXPECT_EQ(options_.stream_stall_timeout, absl::Seconds(90));
  EXPECT_EQ(RunWith({"--deadline", "500ms"}), kDone);
  EXPECT_EQ(options_.unavailable_budget, absl::Milliseconds(500));
  EXPECT_EQ(options_.unary_deadline, absl::Seconds(1));
  EXPECT_EQ(options_.stream_stall_timeout, absl::Seconds(1));
  EXPECT_EQ(RunWith({"--deadline", "0s"}), kDone);
  EXPECT_EQ(options_.unavailable_budget, absl::ZeroDuration());
  EXPECT_EQ(RunWith({"--deadline", "24h"}), kDone);
  EXPECT_EQ(options_.unavailable_budget, absl::Hours(24));
}

TEST_F(CtlConnectionFlagsTest, RefusesOtherDeadlines) {
  for (const char* text : {"-1s", "24h1s", "inf", "soon", "10 s", "s"}) {
    EXPECT_EQ(RunWith({"--deadline", text}), kWrongUsage) << text;
    EXPECT_THAT(err_.str(), HasSubstr("--deadline: ")) << text;
  }
  for (const char* text : {"10", "0", "1.5"}) {
    EXPECT_EQ(RunWith({"--deadline", text}), kWrongUsage) << text;
    EXPECT_THAT(err_.str(),
                HasSubstr(std::string("add one, such as ") + text + "s"));
  }
  // A unit cures no number that is not finite.
  for (const char* text : {"nan", "inf", "-inf"}) {
    const ScopedVariable deadline("LOSSSCALER_DEADLINE", text);
    EXPECT_EQ(RunWith({}), kWrongUsage) << text;
    EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_DEADLINE: ")) << text;
    EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("unit"))) << text;
  }
  const ScopedVariable deadline("LOSSSCALER_DEADLINE", "10");
  EXPECT_EQ(RunWith({}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_DEADLINE: "));
}

TEST_F(CtlConnectionFlagsTest, TlsTrustsTheMachineOrAFile) {
  EXPECT_EQ(RunWith({"--tls"}), kDone);
  ASSERT_TRUE(options_.tls.has_value());
  EXPECT_EQ(options_.tls->ca_certificates, "");
  EXPECT_EQ(RunWith({"--ca", ca_.c_str()}), kDone);
  ASSERT_TRUE(options_.tls.has_value());
  EXPECT_EQ(options_.tls->ca_certificates, kEmptyCertificate);
  EXPECT_EQ(options_.tls->certificate_chain, "");
}

TEST_F(CtlConnectionFlagsTest, ShowsACertificate) {
  EXPECT_EQ(RunWith({"--cert", certificate_.c_str(), "--key", key_.c_str()}),
            kDone);
  ASSERT_TRUE(options_.tls.has_value());
  EXPECT_EQ(options_.tls->ca_certificates, "");
  EXPECT_EQ(options_.tls->certificate_chain, kEmptyCertificate);
  EXPECT_EQ(options_.tls->private_key, kEmptyKey);
}

TEST_F(CtlConnectionFlagsTest, TakesFilesFromVariables) {
  const ScopedVariable ca("LOSSSCALER_CA_FILE", ca_.c_str());
  const ScopedVariable certificate("LOSSSCALER_CERT_FILE",
                                   certificate_.c_str());
  const ScopedVariable key("LOSSSCALER_KEY_FILE", key_.c_str());
  const ScopedVariable token("LOSSSCALER_TOKEN_FILE", token_.c_str());
  EXPECT_EQ(RunWith({}), kDone);
  ASSERT_TRUE(options_.tls.has_value());
  EXPECT_EQ(options_.tls->ca_certificates, kEmptyCertificate);
  EXPECT_EQ(options_.tls->certificate_chain, kEmptyCertificate);
  EXPECT_EQ(options_.tls->private_key, kEmptyKey);
  EXPECT_EQ(options_.token, "from-file");
}

TEST_F(CtlConnectionFlagsTest, TheTlsVariableIsASwitch) {
  {
    const ScopedVariable tls("LOSSSCALER_TLS", "1");
    EXPECT_EQ(RunWith({}), kDone);
    EXPECT_TRUE(options_.tls.has_value());
  }
  {
    const ScopedVariable tls("LOSSSCALER_TLS", "0");
    EXPECT_EQ(RunWith({}), kDone);
    EXPECT_FALSE(options_.tls.has_value());
    EXPECT_EQ(RunWith({"--tls"}), kDone);
    EXPECT_TRUE(options_.tls.has_value());
  }
  const ScopedVariable tls("LOSSSCALER_TLS", "perhaps");
  EXPECT_EQ(RunWith({}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_TLS"));
}

TEST_F(CtlConnectionFlagsTest, ACertificateAndItsKeyBelongTogether) {
  EXPECT_EQ(RunWith({"--cert", certificate_.c_str()}), kWrongUsage);
  EXPECT_EQ(err_.str(),
            "lossscalerctl: --cert needs --key, the private key of the "
            "certificate; see `lossscalerctl delete --help`\n");
  const ScopedVariable key("LOSSSCALER_KEY_FILE", key_.c_str());
  EXPECT_EQ(RunWith({}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_KEY_FILE needs --cert"));
  EXPECT_EQ(RunWith({"--cert", certificate_.c_str()}), kDone);
}

TEST_F(CtlConnectionFlagsTest, AFileThatCannotBeReadIsBadInput) {
  const std::string missing = directory_.path() + "/missing";
  EXPECT_EQ(RunWith({"--ca", missing.c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("INVALID_CREDENTIALS: "));
  EXPECT_EQ(RunWith({"--token-file", missing.c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("INVALID_CREDENTIALS: "));
  EXPECT_EQ(options_.token, "");
}

TEST_F(CtlConnectionFlagsTest, ATokenComesFromAFileOrAVariable) {
  EXPECT_EQ(RunWith({"--token-file", token_.c_str()}), kDone);
  EXPECT_EQ(options_.token, "from-file");
  const ScopedVariable token("LOSSSCALER_TOKEN", "from-variable");
  EXPECT_EQ(RunWith({}), kDone);
  EXPECT_EQ(options_.token, "from-variable");
  EXPECT_EQ(RunWith({"--token-file", token_.c_str()}), kDone);
  EXPECT_EQ(options_.token, "from-file");
  EXPECT_EQ(RunWith({"--token", "t"}), kWrongUsage);
}

TEST_F(CtlConnectionFlagsTest, TwoTokensInVariablesContradict) {
  const ScopedVariable token("LOSSSCALER_TOKEN", "from-variable");
  const ScopedVariable file("LOSSSCALER_TOKEN_FILE", token_.c_str());
  EXPECT_EQ(RunWith({}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_TOKEN_FILE"));
  EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_TOKEN are set"));
  const std::string other = Write("other", "from-flag");
  EXPECT_EQ(RunWith({"--token-file", other.c_str()}), kDone);
  EXPECT_EQ(options_.token, "from-flag");
}

TEST_F(CtlConnectionFlagsTest, ATokenLeavesTheMachineOnlyUnderTls) {
  const ScopedVariable token("LOSSSCALER_TOKEN", "secret");
  EXPECT_EQ(RunWith({"--address", "scaler.example:50551"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("LOSSSCALER_TOKEN gives a token"));
  EXPECT_THAT(err_.str(), HasSubstr("without TLS"));
  EXPECT_THAT(err_.str(), HasSubstr("scaler.example:50551"));
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(RunWith({"--address", "scaler.example:50551", "--tls"}), kDone);
  EXPECT_EQ(options_.token, "secret");
  for (const char* address : {"unix:/run/scaler", "localhost:1", "[::1]:1"}) {
    EXPECT_EQ(RunWith({"--address", address}), kDone) << address;
    EXPECT_EQ(options_.token, "secret");
  }
}

TEST_F(CtlConnectionFlagsTest, HealthUsesThemToo) {
  const ScopedVariable token("LOSSSCALER_TOKEN", "t");
  EXPECT_EQ(Run({"health", "--tls", "--address", "h:1", "--deadline", "90s"}),
            kDone);
  EXPECT_EQ(options_.address, "h:1");
  EXPECT_EQ(options_.token, "t");
  EXPECT_TRUE(options_.tls.has_value());
  EXPECT_EQ(health_wait_, absl::Seconds(90));
}

}  // namespace
}  // namespace lossscaler::ctl
