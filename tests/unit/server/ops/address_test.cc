// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsOk;
using ::testing::HasSubstr;

struct AddressCase {
  std::string text;
  std::string canonical;
  bool local;
};

class GoodAddress : public ::testing::TestWithParam<AddressCase> {};

TEST_P(GoodAddress, IsTaken) {
  const auto address = ListenAddress::Parse(GetParam().text);
  ASSERT_THAT(address, IsOk());
  EXPECT_EQ(address->ToString(), GetParam().canonical);
  EXPECT_EQ(address->is_local(), GetParam().local);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoodAddress,
    ::testing::Values(
        AddressCase{"127.0.0.1:50551", "127.0.0.1:50551", true},
        AddressCase{"127.8.9.1:0", "127.8.9.1:0", true},
        AddressCase{"localhost:1", "127.0.0.1:1", true},
        AddressCase{"[::1]:65535", "[::1]:65535", true},
        AddressCase{"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true},
        AddressCase{"0.0.0.0:50551", "0.0.0.0:50551", false},
        AddressCase{"[::]:50551", "[::]:50551", false},
        AddressCase{"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", false},
        AddressCase{"10.1.2.3:1", "10.1.2.3:1", false},
        // 128.0.0.1 differs from a loopback address in one bit.
        AddressCase{"128.0.0.1:1", "128.0.0.1:1", false},
        AddressCase{"unix:/run/x.sock", "unix:/run/x.sock", true},
        AddressCase{"unix:///run/x.sock", "unix:/run/x.sock", true},
        AddressCase{absl::StrCat("unix:/", std::string(106, 'x')),
                    absl::StrCat("unix:/", std::string(106, 'x')), true}));

struct BadCase {
  std::string text;
  std::string says;
};

class BadAddress : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadAddress, IsRefusedWithTheReason) {
  const auto address = ListenAddress::Parse(GetParam().text);
  ASSERT_FALSE(address.ok());
  EXPECT_THAT(std::string(address.status().message()),
              HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAddress,
    ::testing::Values(BadCase{"", "port is missing"},
                      BadCase{"50551", "port is missing"},
                      BadCase{"127.0.0.1", "port is missing"},
                      BadCase{"127.0.0.1:", "port must be a number"},
                      BadCase{"127.0.0.1:65536", "port must be a number"},
                      BadCase{"127.0.0.1:-1", "port must be a number"},
                      BadCase{"127.0.0.1:http", "port must be a number"},
                      BadCase{":50551", "IP address of an interface"},
                      BadCase{"example.org:1", "IP address of an interface"},
                      BadCase{"127.1:1", "IP address of an interface"},
                      BadCase{"::1:50551", "in brackets"},
                      BadCase{"[127.0.0.1]:1", "no IPv6 address"},
                      BadCase{"unix:", "absolute path"},
                      BadCase{"unix:x.sock", "absolute path"},
                      BadCase{"unix://host/x", "absolute path"},
                      BadCase{"unix:/run/", "absolute path"},
                      BadCase{"unix:/a%20b", "'%'"},
                      BadCase{absl::StrCat("unix:/", std::string(107, 'x')),
                              "108 bytes long, at most 107"},
                      BadCase{"unix-abstract:x", "no file permissions"}));

TEST(ListenAddress, PutsTheRealPortInPlace) {
  EXPECT_EQ(ListenAddress::Parse("127.0.0.1:0")->WithPort(7), "127.0.0.1:7");
  EXPECT_EQ(ListenAddress::Parse("[::1]:0")->WithPort(7), "[::1]:7");
  EXPECT_EQ(ListenAddress::Parse("unix:/x")->WithPort(1), "unix:/x");
}

TEST(ListenAddress, IsWhatTheOperatingSystemWants) {
  sockaddr_storage storage;
  ASSERT_EQ(ListenAddress::Parse("127.0.0.2:258")->ToSocketAddress(&storage),
            sizeof(sockaddr_in));
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
  EXPECT_EQ(v4.sin_family, AF_INET);
  EXPECT_EQ(v4.sin_addr.s_addr, htonl(0x7f000002));
  EXPECT_EQ(v4.sin_port, htons(258));

  ASSERT_EQ(ListenAddress::Parse("[::1]:258")->ToSocketAddress(&storage),
            sizeof(sockaddr_in6));
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
  EXPECT_EQ(v6.sin6_family, AF_INET6);
  EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr));
  EXPECT_EQ(v6.sin6_port, htons(258));
}

}  // namespace
}  // namespace lossscaler::server
