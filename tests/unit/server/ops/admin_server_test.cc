// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Over real sockets on the loopback interface.

#include "ops/admin_server.h"

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/address.h"
#include "ops/exit_code.h"
#include "testing/http_socket.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HttpGet;
using ::lossscaler::testing::HttpSocket;
using ::lossscaler::testing::IsOk;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGetHealth = "GET /healthz HTTP/1.1\r\n\r\n";

class AdminServerTest : public ::testing::Test {
 protected:
  AdminServerTest() { Start("127.0.0.1:0"); }

  void Start(std::string_view address) {
    absl::StatusOr<std::unique_ptr<AdminServer>> server =
        AdminServer::Start(*ListenAddress::Parse(address),
                           {.ready = [] { return absl::OkStatus(); },
                            .metrics = [this] { return metrics_(); }});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  const std::string& address() const { return server_->address(); }

  std::function<std::string()> metrics_ = [] { return "a 1\n"; };
  std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminServerTest, AnswersOnTheRealPortInPlaceOfZero) {
  EXPECT_THAT(address(), AllOf(StartsWith("127.0.0.1:"), Not(EndsWith(":0"))));
  EXPECT_THAT(HttpGet(address(), "/healthz"), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(HttpGet(address(), "/metrics"), EndsWith("\r\n\r\na 1\n"));
}

TEST_F(AdminServerTest, ARequestMayComeByteForByte) {
  HttpSocket socket(address());
  for (const char c : kGetHealth) ASSERT_TRUE(socket.Send({&c, 1}));
  EXPECT_THAT(socket.ReadAll(), EndsWith("\r\n\r\nok\n"));
}

TEST_F(AdminServerTest, ALargeAnswerArrivesWhole) {
  metrics_ = [] { return std::string(8 << 20, 'x'); };
  EXPECT_THAT(HttpGet(address(), "/metrics").size(),
              ::testing::Gt(std::size_t{8} << 20));
}

TEST_F(AdminServerTest, AHeadThatIsTooLongIsRefused) {
  HttpSocket socket(address());
  socket.Send(absl::StrCat("GET / HTTP/1.1\r\nX-Long: ",
                           std::string(kMaxRequestHeadBytes, 'x')));
  EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 431 "));

  // However it arrives, and although its end is there.
  HttpSocket other(address());
  other.Send(absl::StrCat("GET / HTTP/1.1\r\nX-Long: ",
                          std::string(kMaxRequestHeadBytes, 'x'), "\r\n\r\n"));
  EXPECT_THAT(other.ReadAll(), StartsWith("HTTP/1.1 431 "));
}

TEST_F(AdminServerTest, AHeadOfTheLargestSizeIsAnswered) {
  std::string head = "GET /healthz HTTP/1.1\r\nX-Long: ";
  head.append(kMaxRequestHeadBytes - head.size() - 4, 'x');
  HttpSocket socket(address());
  socket.Send(absl::StrCat(head, "\r\n\r\n"));
  EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, ABodyIsNotWaitedForAndTheAnswerIsSeen) {
  HttpSocket socket(address());
  socket.Send(
      absl::StrCat("POST /metrics HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n",
                   std::string(100'000, 'x')));
  EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 405 "));
  EXPECT_FALSE(socket.was_reset());
}

TEST_F(AdminServerTest, WhatFollowsARequestIsNoSecondOne) {
  HttpSocket socket(address());
  socket.Send(absl::StrCat(std::string(kGetHealth), std::string(kGetHealth)));
  const std::string answer = socket.ReadAll();
  EXPECT_EQ(answer.find("HTTP/1.1"), 0u);
  EXPECT_EQ(answer.rfind("HTTP/1.1"), 0u);
}

TEST_F(AdminServerTest, GarbageIsRefusedAndHurtsNobody) {
  for (const std::string_view garbage :
       {std::string_view("\0\0\0\0\r\n\r\n", 8),
        std::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 13)}) {
    HttpSocket socket(address());
    socket.Send(garbage);
    EXPECT_THAT(socket.ReadAll(), StartsWith("HTTP/1.1 400 "));
  }
  {
    HttpSocket gone(address());
    gone.Send("GET /heal");
  }
  EXPECT_THAT(HttpGet(address(), "/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, ConnectionsThatSendNothingOrSlowlyDelayNobody) {
  std::vector<HttpSocket> slow;
  for (int i = 0; i < kMaxAdminConnections - 1; ++i) {
    slow.emplace_back(address());
    if (i % 2 == 0) slow.back().Send("GET /healthz HTTP/1.1\r\nX-Slow: ");
  }
  EXPECT_THAT(HttpGet(address(), "/healthz"), StartsWith("HTTP/1.1 200 "));
  // They are not lost either.
  ASSERT_TRUE(slow.front().Send("1\r\n\r\n"));
  EXPECT_THAT(slow.front().ReadAll(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, AReaderThatDoesNotReadDelaysNobody) {
  // More than the kernel takes for them.
  metrics_ = [] { return std::string(16 << 20, 'x'); };
  std::vector<HttpSocket> deaf;
  for (int i = 0; i < 4; ++i) {
    deaf.emplace_back(address());
    deaf.back().Send("GET /metrics HTTP/1.1\r\n\r\n");
  }
  EXPECT_THAT(HttpGet(address(), "/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminServerTest, OneConnectionTooManyTakesThePlaceOfTheOldest) {
  HttpSocket oldest(address());
  oldest.Send("GET /healthz HTTP/1.1\r\n");
  std::vector<HttpSocket> others;
  for (int i = 0; i < kMaxAdminConnections; ++i) others.emplace_back(address());
  others.back().Send(kGetHealth);
  EXPECT_THAT(others.back().ReadAll(), StartsWith("HTTP/1.1 200 "));
  // Too late: all others have been accepted.
  oldest.Send("\r\n");
  EXPECT_EQ(oldest.ReadAll(), "");
}

TEST_F(AdminServerTest, APortThatSomebodyHasEndsTheStart) {
  const absl::StatusOr<std::unique_ptr<AdminServer>> second =
      AdminServer::Start(*ListenAddress::Parse(address()),
                         {.ready = [] { return absl::OkStatus(); },
                          .metrics = [] { return ""; }});
  EXPECT_EQ(ExitCodeOf(second.status()), ExitCode::kBind);
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr(address()), HasSubstr("Address already in use"),
                    HasSubstr("admin_listen")));
}

TEST_F(AdminServerTest, AnAddressThatIsNotOursEndsTheStart) {
  // For documentation: no machine has it.
  const absl::StatusOr<std::unique_ptr<AdminServer>> server =
      AdminServer::Start(*ListenAddress::Parse("192.0.2.1:0"),
                         {.ready = [] { return absl::OkStatus(); },
                          .metrics = [] { return ""; }});
  EXPECT_EQ(ExitCodeOf(server.status()), ExitCode::kBind);
}

TEST_F(AdminServerTest, ItsPortIsFreeAsSoonAsItHasEnded) {
  const std::string before = address();
  EXPECT_THAT(HttpGet(before, "/healthz"), StartsWith("HTTP/1.1 200 "));
  server_.reset();
  Start(before);
  EXPECT_EQ(address(), before);
}

TEST_F(AdminServerTest, EndsWhileConnectionsHang) {
  HttpSocket silent(address());
  HttpSocket slow(address());
  slow.Send("GET /healthz HT");
  // Answered: the server has seen the others.
  HttpGet(address(), "/healthz");
  server_.reset();
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(slow.ReadAll(), "");
}

TEST_F(AdminServerTest, EndsOnceThePageThatIsAskedForIsThere) {
  std::promise<void> asked;
  std::promise<void> go;
  metrics_ = [&] {
    asked.set_value();
    go.get_future().wait();
    return std::string("a 1\n");
  };
  HttpSocket socket(address());
  socket.Send("GET /metrics HTTP/1.1\r\n\r\n");
  asked.get_future().wait();
  std::thread end([this] { server_.reset(); });
  go.set_value();
  end.join();
  // Whole, or not at all: it depends on which came first.
  EXPECT_THAT(socket.ReadAll(), AnyOf("", EndsWith("\r\n\r\na 1\n")));
}

}  // namespace
}  // namespace lossscaler::server
