// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// bare_vote_server: the least that a coordinator can do. Counts votes on
// loopback TCP and sends everyone the decision when all are in.
//
// usage: bare_vote_server READY_FILE WORKERS; the port goes into the file.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bench/coordination/bare_vote.h"

namespace lossscaler::bench {
namespace {

// 0: none could be had.
int ListenOnLoopback(int listener) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, generic, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

// Accepts every worker, and watches it.
std::vector<int> AcceptAll(int listener, int epoll, std::size_t workers) {
  std::vector<int> sockets;
  while (sockets.size() < workers) {
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
    sockets.push_back(socket);
  }
  return sockets;
}

// Until a worker is gone.
void Serve(int epoll, const std::vector<int>& sockets) {
  std::vector<epoll_event> events(sockets.size());
  std::size_t votes = 0;
  while (true) {
    const int ready =
        epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    BareVote vote;
    for (int i = 0; i < ready; ++i) {
      if (recv(events[static_cast<std::size_t>(i)].data.fd, &vote, sizeof(vote),
               MSG_WAITALL) != sizeof(vote)) {
        return;
      }
      ++votes;
    }
    if (votes < sockets.size()) continue;
    votes = 0;
    for (const int socket : sockets) {
      send(socket, &vote, sizeof(vote), MSG_NOSIGNAL);
    }
  }
}

int Run(const std::string& ready_file, std::size_t workers) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int port = ListenOnLoopback(listener);
  if (port == 0) {
    std::fputs("bare_vote_server: no port could be had\n", stderr);
    return 1;
  }
  std::ofstream(ready_file) << port << "\n";
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  Serve(epoll, AcceptAll(listener, epoll, workers));
  return 0;
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bare_vote_server READY_FILE WORKERS\n", stderr);
    return 2;
  }
  return lossscaler::bench::Run(argv[1], std::strtoull(argv[2], nullptr, 10));
}
