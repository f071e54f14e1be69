// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Which addresses want which protection.

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/config.h"
#include "ops/settings.h"

namespace lossscaler::server {
namespace {

using ::testing::HasSubstr;

// May be combined.
enum Protection : unsigned {
  kNothing = 0,
  kTls = 1,
  kTokens = 2,
  kClientCa = 4
};

Config Protected(const std::string& address, unsigned protection) {
  Config config;
  config.listen = {address};
  if ((protection & kTls) != 0) config.tls_cert = config.tls_key = "/pem";
  if ((protection & kTokens) != 0) config.token_file = "/tokens";
  if ((protection & kClientCa) != 0) config.tls_client_ca = "/ca";
  return config;
}

TEST(ListenProtection, AnAddressOfThisMachineNeedsNone) {
  for (const std::string address :
       {"127.0.0.1:1", "127.1.2.3:1", "localhost:1", "[::1]:1", "unix:/s"}) {
    for (const unsigned protection :
         {0u + kNothing, 0u + kTls, 0u + kTokens, kTls | kTokens | kClientCa}) {
      EXPECT_THAT(CheckTogether(Protected(address, protection)),
                  ::testing::IsEmpty())
          << address << " " << protection;
    }
  }
}

TEST(ListenProtection, AnyOtherNeedsTlsAndSomethingThatTellsCallersApart) {
  for (const std::string address :
       {"0.0.0.0:1", "192.0.2.1:1", "[::]:1", "[2001:db8::1]:1",
        "[::ffff:192.0.2.1]:1"}) {
    for (const unsigned protection : {0u + kNothing, 0u + kTls, 0u + kTokens}) {
      Config config = Protected(address, protection);
      EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
                  HasSubstr("is not a loopback address"))
          << address << " " << protection;
      config.insecure = true;
      EXPECT_THAT(CheckTogether(config), ::testing::IsEmpty()) << address;
    }
    for (const unsigned protection :
         {kTls | kTokens, kTls | kClientCa, kTls | kTokens | kClientCa}) {
      EXPECT_THAT(CheckTogether(Protected(address, protection)),
                  ::testing::IsEmpty())
          << address << " " << protection;
    }
  }
}

TEST(ListenProtection, OneOpenAddressAmongOthersIsEnoughToRefuse) {
  Config config;
  config.listen = {"127.0.0.1:1", "unix:/s", "0.0.0.0:2"};
  EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
              HasSubstr("\"0.0.0.0:2\" is not a loopback address"));
}

TEST(ListenProtection, CertificateKeyAndAuthoritiesGoTogether) {
  Config config;
  config.tls_cert = "/pem";
  EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
              HasSubstr("tls_key is not set"));
  config = Config();
  config.tls_key = "/pem";
  EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
              HasSubstr("tls_cert is not set"));
  config = Config();
  config.tls_client_ca = "/ca";
  EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
              HasSubstr("there is no TLS"));
  // Not even where nothing has to be protected from the network.
  config.insecure = true;
  EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
              HasSubstr("there is no TLS"));
}

TEST(ListenProtection, TheAdminPortHasAWordOfItsOwn) {
  Config config = Protected("127.0.0.1:1", kTls | kTokens);
  config.admin_listen = "0.0.0.0:2";
  config.insecure = true;
  EXPECT_THAT(absl::StrJoin(CheckTogether(config), "\n"),
              HasSubstr("admin_listen: \"0.0.0.0:2\" is not a loopback"));
  config.admin_insecure = true;
  EXPECT_THAT(CheckTogether(config), ::testing::IsEmpty());
}

}  // namespace
}  // namespace lossscaler::server
