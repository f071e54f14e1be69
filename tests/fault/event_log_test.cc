// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What lossscalerd as a process writes into its log while it is used, and while
// it is flooded.

#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "testing/ready_server.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::ReadyServer;
using ::lossscaler::testing::Transport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using OrderedJson = nlohmann::ordered_json;

constexpr char kSession[] = "team/run";

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::shared_ptr<Connection> Connect(const ReadyServer& server) {
  return MakeConnection({.address = server.address(), .call_id = "job-17"});
}

// Asks for a session of a name that the client library would not send.
grpc::Status AskFor(v1::LossScalerService::Stub* stub,
                    const std::string& session) {
  grpc::ClientContext context;
  v1::GetSessionRequest request;
  request.set_session(session);
  v1::GetSessionResponse response;
  return stub->GetSession(&context, request, &response);
}

std::unique_ptr<v1::LossScalerService::Stub> RawStub(
    const ReadyServer& server) {
  return v1::LossScalerService::NewStub(grpc::CreateChannel(
      server.address(), grpc::InsecureChannelCredentials()));
}

// The life of a group, up to its end. What is secret in it is returned.
std::set<std::string> LiveAndDie(Connection* connection) {
  GroupConfig group;
  group.min_workers = group.max_workers = 2;
  std::set<std::string> secrets;
  EXPECT_THAT(
      connection->CreateGroup(kSession, *LossScaler::Dynamic(1024, 2, 3), group,
                              IfExists::kFail),
      IsOk());
  const auto join = [&](const std::string& worker, const std::string& token) {
    const absl::StatusOr<JoinAnswer> joined = connection->JoinSession(
        {.name = kSession},
        {.worker = worker,
         .request_id = absl::StrCat("join-", secrets.size()),
         .resume_token = token});
    EXPECT_THAT(joined, IsOk());
    if (!joined.ok()) return JoinAnswer();
    secrets.insert(joined->resume_token);
    return *joined;
  };
  const JoinAnswer a = join("a", "");
  const JoinAnswer b = join("b", "");
  const absl::StatusOr<UpdateAnswer> overflow =
      connection->Update({.session = {.name = kSession},
                          .step = 1,
                          .vote = {.worker = "a",
                                   .incarnation = a.incarnation,
                                   .verdict = Verdict::kOverflow,
                                   .scale_used = 1024,
                                   .base = 0}});
  EXPECT_THAT(overflow, IsOk());
  // Another process takes the place of b.
  const JoinAnswer successor = join("b", b.resume_token);
  EXPECT_THAT(
      connection->LeaveSession({.name = kSession},
                               {.worker = "a", .incarnation = a.incarnation}),
      IsOk());
  EXPECT_THAT(connection->DeleteSession({.name = kSession}), IsOk());
  EXPECT_THAT(connection->GetSession({.name = kSession}),
              IsError(Reason::kSessionNotFound));
  EXPECT_EQ(secrets.size(), 3u);
  return secrets;
}

class EventLogProcessTest : public ::testing::Test {
 protected:
  // The lines of one that has ended, without what is not about sessions and
  // calls, and with * for what is different each time.
  static std::vector<std::string> Events(const std::string& log) {
    static const std::set<std::string> others = {
        "grpc",   "serving", "open_address", "store_healthy",
        "signal", "stopped", "draining"};
    std::vector<std::string> events;
    for (const std::string& line : LinesOf(log)) {
      OrderedJson event = OrderedJson::parse(line, nullptr, false);
      EXPECT_FALSE(event.is_discarded()) << line;
      if (event.is_discarded() || others.contains(event["event"])) continue;
      for (const char* varies : {"time", "uid", "peer", "took"}) {
        if (event.contains(varies)) event[varies] = "*";
      }
      for (const char* text : {"explanation", "error"}) {
        if (event.contains(text)) event[text] = "...";
      }
      events.push_back(event.dump());
    }
    return events;
  }

  static std::string Line(const std::string& rest) {
    return "{\"time\":\"*\",\"level\":" + rest + "}";
  }
};

TEST_F(EventLogProcessTest, TellsTheLifeOfAGroupAsJson) {
  ReadyServer server(Transport::kTcp, {"--log-format=json"});
  const std::set<std::string> secrets = LiveAndDie(Connect(server).get());
  EXPECT_THAT(server.Stop(), Optional(0));
  const std::string session = R"(,"session":"team/run")";
  EXPECT_THAT(
      Events(server.Log()),
      ElementsAre(
          Line(R"("info","event":"session_created")" + session +
               R"(,"uid":"*","kind":"group","scale":1024.0)"),
          Line(R"("info","event":"worker_joined")" + session +
               R"(,"step":1,"epoch":2,"worker":"a","incarnation":1,)"
               R"("state":"active")"),
          Line(R"("info","event":"worker_joined")" + session +
               R"(,"step":1,"epoch":3,"worker":"b","incarnation":2,)"
               R"("state":"active")"),
          Line(R"("info","event":"session_opened")" + session +
               R"(,"step":1,"epoch":3,"workers":2,"min_workers":2)"),
          Line(R"("info","event":"decision")" + session +
               R"(,"step":1,"epoch":3,"outcome":"SKIP_OVERFLOW",)"
               R"("reason":"OVERFLOW","scale_before":1024.0,)"
               R"("scale_after":512.0,"overflow":["a"],"explanation":"...")"),
          Line(R"("warning","event":"worker_lost")" + session +
               R"(,"step":2,"epoch":3,"worker":"b","incarnation":2,)"
               R"("reason":"replaced")"),
          Line(R"("info","event":"worker_joined")" + session +
               R"(,"step":2,"epoch":3,"worker":"b","incarnation":3,)"
               R"("state":"pending")"),
          Line(R"("info","event":"decision")" + session +
               R"(,"step":2,"epoch":4,"outcome":"SKIP",)"
               R"("reason":"WORKER_LOST","scale_before":512.0,)"
               R"("scale_after":512.0,"lost":["b"],"explanation":"...")"),
          Line(R"("info","event":"worker_active")" + session +
               R"(,"step":3,"epoch":4,"worker":"b","incarnation":3)"),
          Line(R"("info","event":"worker_left")" + session +
               R"(,"step":3,"epoch":4,"worker":"a","incarnation":1)"),
          Line(R"("info","event":"session_deleted")" + session +
               R"(,"uid":"*","step":3,"workers":1)"),
          Line(R"("info","event":"call","method":"DeleteSession","code":"OK")" +
               session + R"(,"peer":"*","call_id":"job-17","took":"*")"),
          Line(R"("info","event":"call_failed","method":"GetSession",)"
               R"("code":"NOT_FOUND","reason":"SESSION_NOT_FOUND")" +
               session +
               R"(,"peer":"*","call_id":"job-17","took":"*",)"
               R"("error":"...")")));
  for (const std::string& secret : secrets) {
    EXPECT_THAT(server.Log(), Not(HasSubstr(secret)));
  }
}

TEST_F(EventLogProcessTest, TellsEveryCallToWhoDebugs) {
  ReadyServer server(Transport::kUnix,
                     {"--log-format=json", "--log-level=debug"});
  const std::set<std::string> secrets = LiveAndDie(Connect(server).get());
  EXPECT_THAT(server.Stop(), Optional(0));
  std::vector<std::string> calls;
  for (const std::string& line : Events(server.Log())) {
    const OrderedJson event = OrderedJson::parse(line);
    if (event["event"] != "call" && event["event"] != "call_failed") continue;
    calls.push_back(absl::StrCat(std::string(event["method"]), " ",
                                 std::string(event["code"])));
    EXPECT_EQ(event["call_id"], "job-17");
  }
  EXPECT_THAT(
      calls, ElementsAre("CreateSession OK", "JoinSession OK", "JoinSession OK",
                         "Update OK", "JoinSession OK", "LeaveSession OK",
                         "DeleteSession OK", "GetSession NOT_FOUND"));
  for (const std::string& secret : secrets) {
    EXPECT_THAT(server.Log(), Not(HasSubstr(secret)));
  }
}

TEST_F(EventLogProcessTest, TextCannotBeForgedFromOutside) {
  ReadyServer server(Transport::kTcp);
  const std::unique_ptr<v1::LossScalerService::Stub> stub = RawStub(server);
  AskFor(stub.get(), "x\n2026-01-01T00:00:00.000Z error forged a=\"b\" \\");
  EXPECT_THAT(server.Stop(), Optional(0));
  std::vector<std::string> calls;
  for (const std::string& line : LinesOf(server.Log())) {
    EXPECT_THAT(line, ::testing::ContainsRegex(
                          "^[0-9-]+T[0-9:.]+Z (info|warning) [a-z_]+"));
    if (line.find("forged") != std::string::npos) calls.push_back(line);
  }
  ASSERT_EQ(calls.size(), 1u) << server.Log();
  EXPECT_THAT(calls[0],
              HasSubstr(" info call_failed method=GetSession "
                        "code=INVALID_ARGUMENT reason=INVALID_SESSION_NAME "
                        "session=\"x\\n2026-01-01T00:00:00.000Z error forged "
                        "a=\\\"b\\\" \\\\\" peer="));
}

// As many lines as were sent, written or counted.
TEST_F(EventLogProcessTest, AFloodOfBadCallsIsAFewLines) {
  ReadyServer server(Transport::kUnix, {"--log-format=json"});
  constexpr int kThreads = 4;
  constexpr int kCalls = 2500;
  const absl::Time start = absl::Now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&server] {
      const std::unique_ptr<v1::LossScalerService::Stub> stub = RawStub(server);
      for (int i = 0; i < kCalls; ++i) AskFor(stub.get(), "/bad/");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(server.Stop(), Optional(0));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);

  std::int64_t written = 0;
  std::int64_t told = 0;
  std::int64_t told_lines = 0;
  std::string last;
  for (const std::string& line : LinesOf(server.Log())) {
    const OrderedJson event = OrderedJson::parse(line);
    last = event["event"];
    if (event["event"] == "call_failed") ++written;
    if (event["event"] != "log_suppressed") continue;
    EXPECT_EQ(event["suppressed"], "call_failed");
    EXPECT_EQ(event["level"], "info");
    EXPECT_THAT(std::string(event["since"]), ::testing::EndsWith("Z"));
    told += event["count"].get<std::int64_t>();
    ++told_lines;
  }
  EXPECT_EQ(written + told, kThreads * kCalls);
  EXPECT_GE(written, 100);
  EXPECT_LE(written, 100 + 10 * seconds + 1);
  EXPECT_GE(told_lines, 1);
  EXPECT_LE(told_lines, seconds + 2);
  EXPECT_EQ(last, "stopped");
}

}  // namespace
}  // namespace lossscaler
