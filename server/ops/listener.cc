// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/limited_log.h"

namespace lossscaler::server {
namespace {

// How long the machine is left alone when it has no room for a connection.
constexpr int kPauseMillis = 100;

// So that a flood at one address keeps neither the others nor the end waiting.
constexpr int kAcceptedAtOnce = 64;

int FilesLeftTo(int spare_files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int files = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  return files - std::min(spare_files, files / 2);
}

absl::Status SystemError(int error) {
  return absl::UnavailableError(strerror(error));
}

}  // namespace

Listener::Listener(int spare_files)
    : end_(FilesLeftTo(spare_files)), wake_(eventfd(0, EFD_CLOEXEC)) {}

Listener::~Listener() {
  Stop();
  close(wake_);
}

absl::StatusOr<int> Listener::Listen(const ListenAddress& address, Take take) {
  sockaddr_storage name;
  const socklen_t size = address.ToSocketAddress(&name);
  const int fd =
      socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return SystemError(errno);
  const int on = 1;
  if (name.ss_family == AF_INET6) {
    // [::] is all addresses, whatever the machine is set to.
    const int off = 0;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (!address.is_unix()) {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    // Connections inherit it.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  auto* const bound = reinterpret_cast<sockaddr*>(&name);
  socklen_t room = sizeof(name);
  if (bind(fd, bound, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
      getsockname(fd, bound, &room) != 0) {
    const int error = errno;
    close(fd);
    return SystemError(error);
  }
  sockets_.push_back({.fd = fd, .take = std::move(take)});
  switch (name.ss_family) {
    case AF_INET:
      return ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
    case AF_INET6:
      return ntohs(reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port);
    default:
      return 0;
  }
}

void Listener::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    eventfd_write(wake_, 1);
    thread_.join();
  }
  for (const Socket& socket : sockets_) close(socket.fd);
  sockets_.clear();
}

void Listener::Run() {
  std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const Socket& socket : sockets_) {
    polled.push_back({.fd = socket.fd, .events = POLLIN, .revents = 0});
  }
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    bool room = true;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if (polled[i + 1].revents != 0) room = Accept(sockets_[i]) && room;
    }
    // Those that wait would make poll() return at once.
    const int pause = room ? 0 : kPauseMillis;
    if (poll(polled.data(), 1, pause) > 0) return;
  }
}

bool Listener::Accept(const Socket& socket) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    const int fd =
        accept4(socket.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    // The kernel gives the least number that is free.
    if (fd >= end_) {
      close(fd);
      ++refused_;
      LimitedLog(LogLevel::kWarning, "connection_refused",
                 {{"files", end_},
                  {"meaning",
                   "no file is left for it: raise the limit of open files "
                   "(ulimit -n), or find out who connects"}});
    } else if (fd >= 0) {
      socket.take(socket.fd, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
               errno == ENOMEM) {
      return false;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // Nobody waits; or something that concerns only this connection.
      return true;
    }
  }
  return true;
}

}  // namespace lossscaler::server
