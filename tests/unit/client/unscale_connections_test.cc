// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The connections that Unscale has for itself.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/core/error.h"
#include "testing/scripted_unscale_server.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::Honest;
using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using lossscaler::testing::ScriptedUnscaleServer;
using lossscaler::testing::TempDirectory;
using lossscaler::testing::UnscaleScript;
using lossscaler::testing::UnscaleServerStream;

constexpr double kPeerScale = 2.0;

absl::StatusOr<UnscaleAnswer> Unscale(Connection* connection,
                                      std::vector<float>* values) {
  const std::vector<GradientTensor> tensors = {
      InPlace("t", std::span(*values))};
  return connection->Unscale({.session = {.name = "team/run", .uid = ""},
                              .step = 1,
                              .tensors = tensors});
}

// How many connections three calls at once come on.
std::size_t ConnectionsOfThreeCalls(int channels) {
  Mutex mutex;
  CondVar changed;
  int open = 0;
  // None goes on before all three are there.
  const UnscaleScript together = [&](grpc::ServerContext* context,
                                     const v1::UnscaleOpen& opening,
                                     UnscaleServerStream* stream) {
    {
      MutexLock lock(&mutex);
      ++open;
      changed.SignalAll();
      while (open < 3) changed.Wait(&mutex);
    }
    return Honest(kPeerScale)(context, opening, stream);
  };
  ScriptedUnscaleServer server({together, together, together}, "127.0.0.1:0");
  ClientOptions options;
  options.address = absl::StrCat("127.0.0.1:", server.port());
  options.unscale_channels = channels;
  const std::shared_ptr<Connection> connection = MakeConnection(options);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      std::vector<float> values(100, 3);
      EXPECT_THAT(Unscale(connection.get(), &values), IsOk());
      EXPECT_EQ(values, std::vector<float>(100, 1.5));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto peers = server.peers();
  return std::set<std::string>(peers.begin(), peers.end()).size();
}

TEST(UnscaleConnectionsTest, ConcurrentCallsAreSpreadOverTheChannels) {
  EXPECT_EQ(ConnectionsOfThreeCalls(1), 1);
  EXPECT_EQ(ConnectionsOfThreeCalls(2), 2);
  EXPECT_EQ(ConnectionsOfThreeCalls(3), 3);
  EXPECT_EQ(ConnectionsOfThreeCalls(64), 3);
}

TEST(UnscaleConnectionsTest, CallsInARowShareOne) {
  ScriptedUnscaleServer server({}, "127.0.0.1:0");
  ClientOptions options;
  options.address = absl::StrCat("127.0.0.1:", server.port());
  options.unscale_channels = 8;
  const std::shared_ptr<Connection> connection = MakeConnection(options);
  std::vector<float> values(10, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Unscale(connection.get(), &values), IsOk());
  }
  const auto peers = server.peers();
  EXPECT_EQ(peers.size(), 5);
  EXPECT_EQ(std::set<std::string>(peers.begin(), peers.end()).size(), 1);
}

TEST(UnscaleConnectionsTest, RefusesANumberOfChannelsOutOfRange) {
  for (const int channels : {-1, 0, 65}) {
    ClientOptions options;
    options.address = "127.0.0.1:1";
    options.unscale_channels = channels;
    std::vector<float> values(1, 1);
    EXPECT_THAT(Unscale(MakeConnection(options).get(), &values),
                IsError(Reason::kInvalidField));
  }
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Forwards between two unix sockets. The first connection is left alone, still
// open, once its client has sent `freeze_after` bytes.
class FreezingRelay {
 public:
  FreezingRelay(const std::string& path, const std::string& server,
                std::size_t freeze_after)
      : server_(server),
        listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = UnixAddress(path);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    EXPECT_EQ(listen(listener_, 8), 0);
    acceptor_ = std::thread([this, freeze_after] {
      std::size_t budget = freeze_after;
      for (int client = 0; (client = accept(listener_, nullptr, nullptr)) >= 0;
           budget = SIZE_MAX) {
        const int server_end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_un to = UnixAddress(server_);
        EXPECT_EQ(connect(server_end, reinterpret_cast<const sockaddr*>(&to),
                          sizeof to),
                  0);
        sockets_.push_back(client);
        sockets_.push_back(server_end);
        threads_.emplace_back([client, server_end, budget] {
          Forward(client, server_end, budget);
        });
      }
    });
  }
  ~FreezingRelay() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : sockets_) close(socket);
    close(listener_);
  }

 private:
  static void Forward(int client, int server, std::size_t budget) {
    std::vector<char> buffer(64 << 10);
    pollfd ends[] = {{.fd = client, .events = POLLIN, .revents = 0},
                     {.fd = server, .events = POLLIN, .revents = 0}};
    while (budget > 0 && poll(ends, 2, -1) > 0) {
      for (int from = 0; from < 2; ++from) {
        if (ends[from].revents == 0) continue;
        const ssize_t n = read(ends[from].fd, buffer.data(), buffer.size());
        if (n <= 0) {
          shutdown(ends[1 - from].fd, SHUT_RDWR);
          return;
        }
        for (ssize_t sent = 0; sent < n;) {
          const ssize_t m =
              send(ends[1 - from].fd, buffer.data() + sent,
                   static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
          if (m < 0) return;
          sent += m;
        }
        if (from == 0) budget -= std::min(budget, static_cast<std::size_t>(n));
      }
    }
  }

  const std::string server_;
  const int listener_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// gRPC ends no call, and closes no connection, in the middle of a write that
// its peer does not take: on a unix socket that lasts for ever.
TEST(UnscaleConnectionsTest, APeerThatFreezesHoldsUpNoCall) {
  TempDirectory directory;
  const std::string server_path = directory.path() + "/server";
  const std::string relay_path = directory.path() + "/relay";
  ScriptedUnscaleServer server(
      std::vector<UnscaleScript>(100, Honest(kPeerScale)),
      "unix:" + server_path);
  FreezingRelay relay(relay_path, server_path, 8 << 20);
  ClientOptions options;
  options.address = "unix:" + relay_path;
  options.stream_stall_timeout = absl::Milliseconds(500);
  options.max_chunks_in_flight = 64;
  options.initial_backoff = absl::Milliseconds(1);
  const std::shared_ptr<Connection> connection = MakeConnection(options);
  auto values = std::make_unique<std::vector<float>>(16 << 20, 3);
  EXPECT_THAT(Unscale(connection.get(), values.get()), IsOk());
  EXPECT_TRUE(*values == std::vector<float>(16 << 20, 1.5));
  EXPECT_GE(server.opens().size(), 2);
  // Nobody reads them any more.
  values.reset();
}

}  // namespace
}  // namespace lossscaler::internal
