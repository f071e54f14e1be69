// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/local_address.h"

#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

TEST(LocalAddressTest, KnowsThisMachine) {
  for (const char* target :
       {"unix:/run/s", "unix:///run/s", "unix-abstract:s", "127.0.0.1:50551",
        "127.1.2.3", "localhost:1", "localhost", "[::1]:50551", "::1",
        "dns:///localhost:1", "dns:127.0.0.1:1", "ipv4:127.0.0.1:1",
        "ipv6:[::1]:1"}) {
    EXPECT_TRUE(IsLocalAddress(target)) << target;
  }
}

TEST(LocalAddressTest, KnowsOthers) {
  for (const char* target :
       {"", ":", "dns://", "dns://localhost", "10.0.0.1:1", "128.0.0.1",
        "127.example.org:1", "localhost.example.org:1", "[2001:db8::1]:1", "[",
        "dns://localhost/example.org:1", "ipv6:[::1]:1,[2001:db8::1]:1",
        "ipv6:[::1]:1%2C[2001:db8::1]:1", "ipv4:127.0.0.1:1,10.0.0.1:1"}) {
    EXPECT_FALSE(IsLocalAddress(target)) << target;
  }
}

}  // namespace
}  // namespace lossscaler::internal
