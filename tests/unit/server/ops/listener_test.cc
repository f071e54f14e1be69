// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/listener.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/sync/mutex.h"
#include "testing/poll_until.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::PollUntil;
using ::lossscaler::testing::TempDirectory;

constexpr std::chrono::seconds kListenerPatience(30);

ListenAddress AddressOf(const std::string& text) {
  return *ListenAddress::Parse(text);
}

int ConnectTo(const ListenAddress& address) {
  sockaddr_storage to;
  const socklen_t size = address.ToSocketAddress(&to);
  const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), size), 0);
  return fd;
}

// Whether the other side has ended the connection.
bool HasEnded(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

// What a listener has handed over.
class Taken {
 public:
  ~Taken() { CloseAll(); }

  Listener::Take Into() {
    return [this](int /*listening*/, int connection) {
      MutexLock lock(&mutex_);
      connections_.push_back(connection);
    };
  }
  std::size_t size() {
    MutexLock lock(&mutex_);
    return connections_.size();
  }
  void CloseAll() {
    MutexLock lock(&mutex_);
    for (const int fd : connections_) close(fd);
    connections_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<int> connections_ ABSL_GUARDED_BY(mutex_);
};

TEST(ListenerTest, TakesConnectionsOfEachAddressAlsoThoseThatWaited) {
  const TempDirectory directory;
  const ListenAddress path =
      AddressOf(absl::StrCat("unix:", directory.path(), "/s"));
  Taken of_tcp;
  Taken of_tcp6;
  Taken of_unix;
  Listener listener;
  const auto port = listener.Listen(AddressOf("127.0.0.1:0"), of_tcp.Into());
  const auto port6 = listener.Listen(AddressOf("[::1]:0"), of_tcp6.Into());
  ASSERT_TRUE(port.ok());
  ASSERT_TRUE(port6.ok());
  ASSERT_TRUE(listener.Listen(path, of_unix.Into()).ok());
  const std::vector<int> clients = {
      ConnectTo(AddressOf(absl::StrCat("127.0.0.1:", *port))),
      ConnectTo(AddressOf(absl::StrCat("[::1]:", *port6))), ConnectTo(path)};
  listener.Start();
  EXPECT_TRUE(PollUntil(kListenerPatience, [&] {
    return of_tcp.size() == 1 && of_tcp6.size() == 1 && of_unix.size() == 1;
  }));
  // They outlive it.
  listener.Stop();
  for (const int fd : clients) {
    EXPECT_FALSE(HasEnded(fd));
    close(fd);
  }
}

TEST(ListenerTest, SaysWhyAnAddressCannotBeBound) {
  Taken taken;
  Listener listener;
  const auto port = listener.Listen(AddressOf("127.0.0.1:0"), taken.Into());
  ASSERT_TRUE(port.ok());
  Listener other;
  const auto again =
      other.Listen(AddressOf(absl::StrCat("127.0.0.1:", *port)), taken.Into());
  EXPECT_EQ(again.status().message(), "Address already in use");
  EXPECT_EQ(other.Listen(AddressOf("unix:/nowhere/x"), taken.Into())
                .status()
                .message(),
            "No such file or directory");
}

TEST(ListenerTest, ConnectionsBeyondItsFilesAreEndedAndLaterOnesTaken) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 128;
  setrlimit(RLIMIT_NOFILE, &few);
  // Files 0 to 63 are for connections; clients take theirs beside them.
  Listener listener(/*spare_files=*/64);
  setrlimit(RLIMIT_NOFILE, &before);

  Taken taken;
  const auto port = listener.Listen(AddressOf("127.0.0.1:0"), taken.Into());
  ASSERT_TRUE(port.ok());
  listener.Start();
  const ListenAddress address = AddressOf(absl::StrCat("127.0.0.1:", *port));
  std::vector<int> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(ConnectTo(address));
  EXPECT_TRUE(
      PollUntil(kListenerPatience, [&] { return HasEnded(clients.back()); }));
  EXPECT_LT(taken.size(), 64u);
  EXPECT_TRUE(PollUntil(kListenerPatience, [&] {
    return taken.size() + static_cast<std::size_t>(listener.refused()) == 100;
  }));

  for (const int fd : clients) close(fd);
  taken.CloseAll();
  const int late = ConnectTo(address);
  EXPECT_TRUE(PollUntil(kListenerPatience, [&] { return taken.size() == 1; }));
  EXPECT_FALSE(HasEnded(late));
  close(late);
}

}  // namespace
}  // namespace lossscaler::server
