// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Peers that do not speak the protocol, speak it badly or hardly speak at all,
// against a real lossscalerd: it neither ends nor keeps anything of them, and
// clients that train meanwhile notice nothing.

#include "fault/hostile_peer.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fault/steady_clients.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/call_status.h"
#include "testing/poll_until.h"
#include "testing/ready_server.h"
#include "testing/status_matchers.h"

namespace lossscaler::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Matcher;
using ::testing::Optional;

// Bounds what a broken server could hang; a handshake may take ten seconds.
constexpr std::chrono::seconds kHostilePatience(60);

// What a process holds: files (sockets among them), threads, and memory in KiB.
struct Holdings {
  std::int64_t files = 0;
  std::int64_t threads = 0;
  std::int64_t resident_kib = 0;
};

Holdings HoldingsOf(pid_t pid) {
  Holdings holdings;
  const std::string process = absl::StrCat("/proc/", pid);
  for (const auto& file :
       std::filesystem::directory_iterator(process + "/fd")) {
    static_cast<void>(file);
    ++holdings.files;
  }
  std::ifstream status(process + "/status");
  for (std::string word; status >> word;) {
    if (word == "Threads:") status >> holdings.threads;
    if (word == "VmRSS:") status >> holdings.resident_kib;
  }
  return holdings;
}

class HostilePeerTest : public ::testing::Test {
 protected:
  // Threads that gRPC starts where it is busy, and ends later; far fewer than
  // there are peers.
  static constexpr std::int64_t kSpareThreads = 16;

  HostilePeerTest() : before_(HoldingsOf(server_.pid())) {}

  // All is as if nobody had been there.
  void TearDown() override {
    EXPECT_TRUE(clients_.Train(10));
    EXPECT_TRUE(PollUntil(
        kHostilePatience,
        [this] { return HoldingsOf(server_.pid()).files <= before_.files; }))
        << HoldingsOf(server_.pid()).files << " files are open, before it were "
        << before_.files;
    const Holdings after = HoldingsOf(server_.pid());
    EXPECT_LE(after.threads, before_.threads + kSpareThreads);
#ifndef LOSSSCALER_IS_SANITIZED
    EXPECT_LE(after.resident_kib, before_.resident_kib + kept_kib_);
#endif
    EXPECT_THAT(clients_.Stop(), notices_);
    EXPECT_THAT(server_.Stop(), Optional(0)) << server_.Log();
  }

  HostilePeer Connect() { return HostilePeer(server_.address()); }
  void ExpectRefused(const std::string& bytes) {
    HostilePeer peer = Connect();
    peer.Send(bytes);
    EXPECT_TRUE(peer.AwaitEnd(kHostilePatience));
  }

  ReadyServer server_{Transport::kTcp};
  SteadyClients clients_{server_.address()};
  const Holdings before_;
  // What the clients may notice.
  Matcher<std::vector<std::string>> notices_ = IsEmpty();
  // What gRPC and the allocator keep for the next connections.
  std::int64_t kept_kib_ = 64 << 10;
};

TEST_F(HostilePeerTest, OtherProtocolsAreRefusedAtOnce) {
  for (int i = 0; i < 50; ++i) {
    ExpectRefused(std::string(64, '\xff'));
    ExpectRefused("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // A TLS ClientHello: handshake record, version, length, random.
    ExpectRefused(
        std::string("\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03", 11) +
        std::string(240, 'r'));
  }
}

TEST_F(HostilePeerTest, FramesLargerThanAllowedEndTheConnection) {
  using http2::Frame;
  using http2::FrameType;
  for (int i = 0; i < 50; ++i) {
    ExpectRefused(http2::Greeting() +
                  Frame(FrameType::kData, 0, 1, "x", 8 << 20));
    ExpectRefused(http2::Greeting() + Frame(FrameType::kHeaders,
                                            http2::kEndHeaders, 1, "x",
                                            0xffffff));
  }
}

TEST_F(HostilePeerTest, HeadersWithoutEndCostNothing) {
  // 64 MiB of headers of one call, in frames as large as they may be.
  std::string headers;
  while (headers.size() < 16'000) {
    headers += http2::Header("x-padding", std::string(100, 'x'));
  }
  HostilePeer peer = Connect();
  peer.Send(http2::Greeting() +
            http2::Frame(http2::FrameType::kHeaders, 0, 1,
                         http2::CallHeaders("GetServerInfo")));
  for (int sent = 0; sent < (64 << 20) && peer.Listen();
       sent += static_cast<int>(headers.size())) {
    peer.Send(http2::Frame(http2::FrameType::kContinuation, 0, 1, headers));
  }
  EXPECT_TRUE(clients_.Train(10));
}

TEST_F(HostilePeerTest, FloodsOfSmallFramesAreNotAnsweredWithoutBound) {
  using http2::Frame;
  using http2::FrameType;
  std::string pings;
  std::string settings;
  std::string resets;
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    pings += Frame(FrameType::kPing, 0, 0, "12345678");
    settings += Frame(FrameType::kSettings, 0, 0, "");
    resets += Frame(FrameType::kHeaders, http2::kEndHeaders, 2 * i + 1,
                    http2::CallHeaders("Update")) +
              Frame(FrameType::kReset, 0, 2 * i + 1, std::string(4, '\0'));
  }
  ExpectRefused(http2::Greeting() + pings);
  // Who does not read the acknowledgements is not read any more.
  HostilePeer deaf = Connect();
  deaf.Send(http2::Greeting());
  for (int i = 0; i < 500; ++i) deaf.Send(settings);
  EXPECT_TRUE(clients_.Train(10));

  HostilePeer hasty = Connect();
  hasty.Send(http2::Greeting() + resets);
  EXPECT_TRUE(clients_.Train(10));
}

// gRPC takes a message in whole before it looks at its size: what it holds of
// all of them is bounded by its quota, max_bytes_in_flight and as much for
// itself, 512 MiB by default. Beyond it, it ends such calls.
TEST_F(HostilePeerTest, AMessageThatAnnouncesFourGibibytesIsCutOffAtTheQuota) {
  constexpr std::int64_t kQuota = std::int64_t{512} << 20;
  // The allocator keeps it for others: another such call takes no more.
  kept_kib_ += kQuota >> 10;
  // Streams of others may be ended with it, which the library opens again.
  notices_ = Each(HasSubstr(" waits"));
  for (int i = 0; i < 3; ++i) {
    const std::string head("\0\xff\xff\xff\xff", 5);
    HostilePeer peer = Connect();
    peer.Send(http2::Greeting() +
              http2::Frame(http2::FrameType::kHeaders, http2::kEndHeaders, 1,
                           http2::CallHeaders("Update")) +
              http2::Frame(http2::FrameType::kData, 0, 1, head));
    // Much is taken, for it could be sent in whole; and not all of it.
    const std::int64_t sent =
        peer.SendData(std::ssize(head), 2 * kQuota, kHostilePatience);
    EXPECT_GE(sent, kQuota / 4);
    EXPECT_LE(sent, kQuota + (std::int64_t{64} << 20));
  }
}

TEST_F(HostilePeerTest, AnOversizedMessageIsRefusedAndItsConnectionGoesOn) {
  const std::unique_ptr<v1::LossScalerService::Stub> stub =
      v1::LossScalerService::NewStub(grpc::CreateChannel(
          server_.address(), grpc::InsecureChannelCredentials()));
  v1::ScaleLossRequest request;
  request.set_session(SteadyClients::kSolo);
  // Two mebi of them, at 4 bytes each.
  request.mutable_losses()->Resize(2 << 20, 1);
  v1::ScaleLossResponse response;
  grpc::ClientContext large;
  EXPECT_THAT(ToAbsl(stub->ScaleLoss(&large, request, &response)),
              HasCode(absl::StatusCode::kResourceExhausted));
  request.mutable_losses()->Resize(1, 1);
  grpc::ClientContext small;
  EXPECT_THAT(ToAbsl(stub->ScaleLoss(&small, request, &response)), IsOk());
}

TEST_F(HostilePeerTest, WhoHardlySpeaksIsDisconnected) {
  std::vector<HostilePeer> silent;
  std::vector<HostilePeer> trickling;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(Connect());
    silent.push_back(Connect());
    silent.back().Send(http2::kPreface.substr(0, 10));
    silent.push_back(Connect());
    silent.back().Send(http2::kPreface);
    trickling.push_back(Connect());
  }
  // A byte now and then does not help.
  std::size_t sent = 0;
  for (bool open = true; open && sent < http2::kPreface.size(); ++sent) {
    for (HostilePeer& peer : trickling) {
      peer.Send(http2::kPreface.substr(sent, 1));
    }
    ASSERT_TRUE(clients_.Train(10));
    open = trickling.back().Listen();
  }
  for (HostilePeer& peer : silent) EXPECT_TRUE(peer.AwaitEnd(kHostilePatience));
  for (HostilePeer& peer : trickling)
    EXPECT_TRUE(peer.AwaitEnd(kHostilePatience));
}

}  // namespace
}  // namespace lossscaler::testing
