// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/cutting_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace lossscaler::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool SendAll(int socket, const char* data, ssize_t size) {
  while (size > 0) {
    const ssize_t sent =
        send(socket, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= sent;
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(int port, std::int64_t cut_after_bytes, Then then)
    : cut_after_bytes_(cut_after_bytes), then_(then), server_port_(port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  EXPECT_EQ(
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length),
      0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

CuttingProxy::~CuttingProxy() {
  std::vector<std::thread> forwarders;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  acceptor_.join();
  {
    MutexLock lock(&mutex_);
    forwarders.swap(forwarders_);
  }
  for (std::thread& forwarder : forwarders) forwarder.join();
  close(listener_);
  MutexLock lock(&mutex_);
  for (const int socket : sockets_) close(socket);
}

std::string CuttingProxy::address() const {
  return absl::StrCat("127.0.0.1:", port_);
}

bool CuttingProxy::cut() {
  MutexLock lock(&mutex_);
  return cut_;
}

bool CuttingProxy::WaitUntilCut() {
  MutexLock lock(&mutex_);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!cut_ && absl::Now() < deadline) {
    cut_changed_.WaitFor(&mutex_, absl::Seconds(1));
  }
  return cut_;
}

void CuttingProxy::set_port(int port) {
  MutexLock lock(&mutex_);
  server_port_ = port;
}

void CuttingProxy::Accept() {
  bool first = true;
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MutexLock lock(&mutex_);
    sockets_.push_back(client);
    sockets_.push_back(server);
    if (stopping_) return;
    sockaddr_in address = Loopback(server_port_);
    if (connect(server, reinterpret_cast<sockaddr*>(&address),
                sizeof(address)) != 0) {
      shutdown(client, SHUT_RDWR);
      continue;
    }
    const std::int64_t budget = first ? cut_after_bytes_ : -1;
    first = false;
    forwarders_.emplace_back([this, client, server, budget] {
      Forward(client, server, budget);
      shutdown(client, SHUT_RDWR);
      shutdown(server, SHUT_RDWR);
    });
  }
}

void CuttingProxy::Forward(int client, int server, std::int64_t budget) {
  std::array<char, 65536> buffer;
  while (true) {
    std::array<pollfd, 2> ready = {
        {{.fd = client, .events = POLLIN, .revents = 0},
         {.fd = server, .events = POLLIN, .revents = 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) return;
    if (ready[0].revents != 0) {
      const ssize_t got = recv(client, buffer.data(), buffer.size(), 0);
      if (got <= 0 || !SendAll(server, buffer.data(), got)) return;
    }
    if (ready[1].revents != 0) {
      ssize_t got = recv(server, buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      if (budget >= 0) got = std::min<ssize_t>(got, budget);
      if (!SendAll(client, buffer.data(), got)) return;
      if (budget >= 0) budget -= got;
    }
    if (budget == 0) {
      {
        MutexLock lock(&mutex_);
        cut_ = true;
        cut_changed_.SignalAll();
      }
      // What a held server still sends is lost with its connection.
      while (then_ == Then::kHold &&
             recv(server, buffer.data(), buffer.size(), 0) > 0) {
      }
      return;
    }
  }
}

}  // namespace lossscaler::testing
