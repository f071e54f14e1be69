// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/http_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "testing/loopback.h"

namespace lossscaler::testing {

HttpSocket::HttpSocket(std::string_view address)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const std::string port(address.substr(address.rfind(':') + 1));
  const sockaddr_in server = Loopback(std::atoi(port.c_str()));
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&server),
              sizeof(server)) != 0) {
    std::abort();
  }
}

HttpSocket::~HttpSocket() {
  if (socket_ >= 0) close(socket_);
}

HttpSocket::HttpSocket(HttpSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

bool HttpSocket::Send(std::string_view bytes) {
  return SendAll(socket_, bytes.data(), static_cast<ssize_t>(bytes.size()));
}

std::string HttpSocket::ReadAll() {
  std::string all;
  std::array<char, 4'096> buffer;
  while (true) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    was_reset_ = count < 0;
    if (count <= 0) return all;
    all.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::string HttpGet(std::string_view address, std::string_view path) {
  HttpSocket socket(address);
  socket.Send(absl::StrCat("GET ", std::string(path), " HTTP/1.1\r\nHost: ",
                           std::string(address), "\r\n\r\n"));
  return socket.ReadAll();
}

}  // namespace lossscaler::testing
