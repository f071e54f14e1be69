// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/admin_server.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/exit_code.h"

namespace lossscaler::server {
namespace {

// Where accepting has failed, it is tried again after so long at the latest.
constexpr absl::Duration kTick = absl::Seconds(1);

// From a clock that nobody sets.
absl::Time Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

int PortOf(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    const ListenAddress& address, AdminPages::Sources sources) {
  std::unique_ptr<AdminServer> server(new AdminServer(std::move(sources)));
  if (const absl::Status status = server->Listen(address); !status.ok()) {
    return MakeExitError(
        ExitCode::kBind,
        absl::StrCat("cannot listen on ", address.ToString(),
                     " for health and metrics: ", status.message(),
                     "; stop whoever has it, or choose another admin_listen"));
  }
  server->thread_ = std::thread([server = server.get()] { server->Run(); });
  return server;
}

AdminServer::AdminServer(AdminPages::Sources sources)
    : pages_(std::move(sources)) {}

AdminServer::~AdminServer() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  for (const int fd : {listener_, events_, stop_}) {
    if (fd >= 0) close(fd);
  }
}

absl::Status AdminServer::Listen(const ListenAddress& address) {
  const auto failed = [] { return absl::UnavailableError(strerror(errno)); };
  sockaddr_storage storage;
  const socklen_t size = address.ToSocketAddress(&storage);
  listener_ =
      socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return failed();
  // Connections of a server that has ended keep no port; a listener does.
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener_, reinterpret_cast<sockaddr*>(&storage), size) != 0 ||
      listen(listener_, SOMAXCONN) != 0) {
    return failed();
  }
  address_ = address.WithPort(PortOf(listener_));

  events_ = epoll_create1(EPOLL_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (events_ < 0 || stop_ < 0) return failed();
  for (int* const fd : {&listener_, &stop_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    // All that wait are taken each time, or could not be.
    if (fd == &listener_) event.events |= EPOLLET;
    event.data.ptr = fd;
    if (epoll_ctl(events_, EPOLL_CTL_ADD, *fd, &event) != 0) return failed();
  }
  return absl::OkStatus();
}

void AdminServer::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count =
        epoll_wait(events_, events.data(), static_cast<int>(events.size()),
                   TimeoutMilliseconds());
    for (int i = 0; i < count; ++i) {
      void* const what = events[static_cast<std::size_t>(i)].data.ptr;
      if (what == &stop_) {
        connections_.clear();
        return;
      }
      if (what == &listener_) continue;
      auto* const connection = static_cast<AdminConnection*>(what);
      if (connection->Proceed(&pages_)) continue;
      // Closing the socket takes it out of the events to come.
      connections_.remove_if(
          [connection](const AdminConnection& c) { return &c == connection; });
    }
    // After the events: these may be of connections that are dropped here.
    DropExpired();
    AcceptAll();
  }
}

void AdminServer::AcceptAll() {
  while (true) {
    const int socket =
        accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (connections_.size() == kMaxAdminConnections) connections_.pop_front();
    AdminConnection& connection =
        connections_.emplace_back(socket, Now() + kAdminConnectionTime);
    // Each edge is used up, so that a byte that is left alone wakes nobody.
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = &connection;
    // What has come already is answered before others can take its place.
    if (epoll_ctl(events_, EPOLL_CTL_ADD, socket, &event) != 0 ||
        !connection.Proceed(&pages_)) {
      connections_.pop_back();
    }
  }
}

void AdminServer::DropExpired() {
  const absl::Time now = Now();
  while (!connections_.empty() && connections_.front().deadline() <= now) {
    connections_.pop_front();
  }
}

int AdminServer::TimeoutMilliseconds() const {
  absl::Duration wait = kTick;
  if (!connections_.empty()) {
    wait = std::clamp(connections_.front().deadline() - Now(),
                      absl::ZeroDuration(), kTick);
  }
  // Rounded up: it would find nothing to drop, again and again.
  return static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1;
}

}  // namespace lossscaler::server
