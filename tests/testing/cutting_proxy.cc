// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/cutting_proxy.h"

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
#include "testing/loopback.h"

namespace lossscaler::testing {

CuttingProxy::CuttingProxy(int port, std::int64_t cut_after_bytes, Then then)
    : cut_after_bytes_(cut_after_bytes),
      then_(then),
      listener_(ListenOnLoopback(&port_)),
      server_port_(port) {
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
    forwarders_.emplace_back([this, client, server] {
      Forward(client, server);
      shutdown(client, SHUT_RDWR);
      shutdown(server, SHUT_RDWR);
    });
  }
}

bool CuttingProxy::Cuts(std::int64_t bytes) {
  MutexLock lock(&mutex_);
  if (cut_ || bytes < cut_after_bytes_) return false;
  cut_ = true;
  cut_changed_.SignalAll();
  return true;
}

void CuttingProxy::Forward(int client, int server) {
  std::int64_t came = 0;
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
      const bool cuts = Cuts(came + got);
      if (cuts) got = std::max<std::int64_t>(0, cut_after_bytes_ - came);
      if (!SendAll(client, buffer.data(), got)) return;
      came += got;
      if (!cuts) continue;
      // What a held server still sends is lost with its connection.
      while (then_ == Then::kHold &&
             recv(server, buffer.data(), buffer.size(), 0) > 0) {
      }
      return;
    }
  }
}

}  // namespace lossscaler::testing
