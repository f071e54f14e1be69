// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lossscaler::server {
namespace {

// sun_path is 108 bytes with its final zero.
constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un{}.sun_path) - 1;

std::optional<int> ParsePort(std::string_view text) {
  int port = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 0 ||
      port > 65535) {
    return std::nullopt;
  }
  return port;
}

absl::Status Refuse(std::string_view why) {
  return absl::InvalidArgumentError(absl::string_view(why.data(), why.size()));
}

bool IsLoopback(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return address.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&address) != 0;
}

}  // namespace

absl::StatusOr<ListenAddress> ListenAddress::Parse(std::string_view text) {
  ListenAddress address;
  if (text.starts_with("unix-abstract:")) {
    return Refuse(
        "abstract sockets have no file permissions, so anybody on the machine "
        "could connect; use unix:/path");
  }
  if (text.starts_with("unix:")) {
    std::string_view path = text.substr(5);
    // The URI form, unix:///path.
    if (path.starts_with("///")) path.remove_prefix(2);
    if (!path.starts_with('/') || path.starts_with("//") ||
        path.ends_with('/')) {
      return Refuse("a unix socket needs an absolute path: unix:/path");
    }
    if (std::any_of(path.begin(), path.end(), [](unsigned char c) {
          return std::iscntrl(c) != 0 || c == '%';
        })) {
      return Refuse(
          "the path of a unix socket must have no control characters and no "
          "'%', which gRPC would decode");
    }
    if (path.size() > kMaxUnixPath) {
      return Refuse(absl::StrCat("the path of a unix socket is ", path.size(),
                                 " bytes long, at most ", kMaxUnixPath,
                                 " are possible; use a shorter one"));
    }
    address.path_ = std::string(path);
    address.local_ = true;
    return address;
  }

  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Refuse("the port is missing: write HOST:PORT or unix:/path");
  }
  const std::optional<int> port = ParsePort(text.substr(colon + 1));
  if (!port.has_value()) {
    return Refuse("the port must be a number from 0 (any free one) to 65535");
  }
  address.port_ = *port;

  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    in6_addr v6;
    address.host_ = std::string(host);
    if (inet_pton(AF_INET6, address.host_.c_str(), &v6) != 1) {
      return Refuse("there is no IPv6 address in the brackets: [::1]:PORT");
    }
    address.is_v6_ = true;
    address.local_ = IsLoopback(v6);
    return address;
  }
  if (host.find(':') != std::string_view::npos) {
    return Refuse("write an IPv6 address in brackets: [::1]:PORT");
  }
  address.host_ = host == "localhost" ? "127.0.0.1" : std::string(host);
  in_addr v4;
  if (inet_pton(AF_INET, address.host_.c_str(), &v4) != 1) {
    return Refuse(
        "the host must be the IP address of an interface, such as 127.0.0.1, "
        "[::1] or 0.0.0.0 for all, or localhost; other names are not resolved");
  }
  address.local_ = (ntohl(v4.s_addr) >> 24) == 127;
  return address;
}

std::string ListenAddress::WithPort(int port) const {
  if (is_unix()) return absl::StrCat("unix:", path_);
  return is_v6_ ? absl::StrCat("[", host_, "]:", port)
                : absl::StrCat(host_, ":", port);
}

socklen_t ListenAddress::ToSocketAddress(sockaddr_storage* storage) const {
  *storage = {};
  if (is_unix()) {
    auto* const name = reinterpret_cast<sockaddr_un*>(storage);
    name->sun_family = AF_UNIX;
    path_.copy(name->sun_path, kMaxUnixPath);
    return sizeof(*name);
  }
  if (is_v6_) {
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port_));
    inet_pton(AF_INET6, host_.c_str(), &v6->sin6_addr);
    return sizeof(*v6);
  }
  auto* const v4 = reinterpret_cast<sockaddr_in*>(storage);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(static_cast<std::uint16_t>(port_));
  inet_pton(AF_INET, host_.c_str(), &v4->sin_addr);
  return sizeof(*v4);
}

}  // namespace lossscaler::server
