// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/faulty_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "testing/loopback.h"

namespace lossscaler::testing {

FaultyProxy::FaultyProxy() : listener_(ListenOnLoopback(&port_)) {
  acceptor_ = std::thread([this] { Accept(); });
}

FaultyProxy::~FaultyProxy() {
  std::vector<std::unique_ptr<Link>> links;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
  }
  acceptor_.join();
  {
    MutexLock lock(&mutex_);
    links.swap(links_);
  }
  for (const std::unique_ptr<Link>& link : links) {
    shutdown(link->client, SHUT_RDWR);
    shutdown(link->server, SHUT_RDWR);
  }
  for (const std::unique_ptr<Link>& link : links) {
    link->forwarder.join();
    close(link->client);
    close(link->server);
  }
  close(listener_);
}

std::string FaultyProxy::address() const {
  return absl::StrCat("127.0.0.1:", port_);
}

void FaultyProxy::set_port(int port) {
  MutexLock lock(&mutex_);
  server_port_ = port;
}

void FaultyProxy::set_delay(absl::Duration delay) {
  MutexLock lock(&mutex_);
  delay_ = delay;
}

void FaultyProxy::DropAnswers(bool drop) {
  MutexLock lock(&mutex_);
  drop_answers_ = drop;
  ResetThoseThatLost();
}

void FaultyProxy::DropRequests(bool drop) {
  MutexLock lock(&mutex_);
  drop_requests_ = drop;
  ResetThoseThatLost();
}

void FaultyProxy::Reset() {
  MutexLock lock(&mutex_);
  for (const std::unique_ptr<Link>& link : links_) ResetSockets(*link);
}

void FaultyProxy::ResetThoseThatLost() {
  if (drop_answers_ || drop_requests_) return;
  for (const std::unique_ptr<Link>& link : links_) {
    if (link->has_lost_requests || link->has_lost_answers) {
      ResetSockets(*link);
    }
  }
}

// To disconnect a TCP socket (AF_UNSPEC) sends RST and wakes whoever waits for
// it, while its descriptor stays taken.
void FaultyProxy::ResetSockets(const Link& link) {
  for (const int socket : {link.client, link.server}) {
    const sockaddr nowhere = {.sa_family = AF_UNSPEC};
    const linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    connect(socket, &nowhere, sizeof(nowhere));
  }
}

void FaultyProxy::Accept() {
  for (;;) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    Connect(client);
  }
}

void FaultyProxy::Connect(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  MutexLock lock(&mutex_);
  const sockaddr_in address = Loopback(server_port_);
  if (stopping_ || connect(server, reinterpret_cast<const sockaddr*>(&address),
                           sizeof(address)) != 0) {
    close(client);
    close(server);
    return;
  }
  const int yes = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  Link* const link = links_.emplace_back(std::make_unique<Link>()).get();
  link->client = client;
  link->server = server;
  link->forwarder = std::thread([this, link] { Forward(link); });
}

void FaultyProxy::Forward(Link* link) {
  for (;;) {
    std::array<pollfd, 2> ready = {
        {{.fd = link->client, .events = POLLIN, .revents = 0},
         {.fd = link->server, .events = POLLIN, .revents = 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) break;
    if (ready[0].revents != 0 && !Pass(link, true)) break;
    if (ready[1].revents != 0 && !Pass(link, false)) break;
  }
  shutdown(link->client, SHUT_RDWR);
  shutdown(link->server, SHUT_RDWR);
}

bool FaultyProxy::Pass(Link* link, bool from_client) {
  std::array<char, 65536> buffer;
  const int from = from_client ? link->client : link->server;
  const ssize_t got = recv(from, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  absl::Duration delay;
  {
    MutexLock lock(&mutex_);
    // After something has been lost nothing that follows makes sense.
    bool& has_lost =
        from_client ? link->has_lost_requests : link->has_lost_answers;
    has_lost = has_lost || (from_client ? drop_requests_ : drop_answers_);
    if (has_lost) return true;
    delay = delay_;
  }
  absl::SleepFor(delay);
  return SendAll(from_client ? link->server : link->client, buffer.data(), got);
}

}  // namespace lossscaler::testing
