// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/local_address.h"

#include <algorithm>
#include <string_view>

namespace lossscaler::internal {
namespace {

// "[::1]:50551" -> "::1", "localhost:50551" -> "localhost".
std::string_view HostOf(std::string_view address) {
  if (address.starts_with('[')) {
    address.remove_prefix(1);
    return address.substr(0, address.find(']'));
  }
  if (std::count(address.begin(), address.end(), ':') != 1) return address;
  return address.substr(0, address.find(':'));
}

}  // namespace

bool IsUnixSocket(std::string_view target) {
  return target.starts_with("unix:") || target.starts_with("unix-abstract:");
}

bool IsLocalAddress(std::string_view target) {
  if (IsUnixSocket(target)) return true;
  // "ipv6:[::1]:1,[2001:db8::1]:1" is a list, whose commas may be escaped.
  if (target.find_first_of(",%") != std::string_view::npos) return false;
  for (const std::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    // "dns://authority/host"; the authority may be empty.
    if (target.starts_with("//")) {
      target.remove_prefix(std::min(target.find('/', 2), target.size() - 1) +
                           1);
    }
    break;
  }
  const std::string_view host = HostOf(target);
  if (host == "localhost" || host == "::1") return true;
  // Only digits and dots: "127.example.org" is a name like any other.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace lossscaler::internal
