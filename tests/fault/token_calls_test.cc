// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Whose token may make which call, for every call there is.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "ops/caller.h"
#include "ops/config.h"
#include "store/memory_store.h"
#include "testing/call_status.h"
#include "testing/poll_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::PollUntil;
using lossscaler::testing::ToAbsl;
using lossscaler::testing::WriteFile;
using ::testing::HasSubstr;
using ::testing::Not;
using Stub = v1::LossScalerService::Stub;

// Makes one call on a session and returns how it ended.
using Attempt = std::function<absl::Status(Stub*, grpc::ClientContext*,
                                           const std::string& session)>;

template <typename Request, typename Response>
Attempt Unary(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                           Response*)) {
  return [method](Stub* stub, grpc::ClientContext* context,
                  const std::string& session) {
    Request request;
    if constexpr (requires { request.set_session(session); }) {
      request.set_session(session);
    } else if constexpr (requires { request.set_prefix(session); }) {
      request.set_prefix(session);
    }
    Response response;
    return ToAbsl((stub->*method)(context, request, &response));
  };
}

template <typename Stream, typename Request, typename Response>
absl::Status OpenAndFinish(Stream stream, const Request& open,
                           Response response) {
  stream->Write(open);
  while (stream->Read(&response)) {
  }
  return ToAbsl(stream->Finish());
}

absl::Status TryUnscale(Stub* stub, grpc::ClientContext* context,
                        const std::string& session) {
  v1::UnscaleRequest request;
  request.mutable_open()->set_session(session);
  return OpenAndFinish(stub->Unscale(context), request, v1::UnscaleResponse());
}

absl::Status TryParticipate(Stub* stub, grpc::ClientContext* context,
                            const std::string& session) {
  v1::ParticipateRequest request;
  request.mutable_open()->set_session(session);
  request.mutable_open()->set_worker("w");
  request.mutable_open()->set_incarnation(1);
  return OpenAndFinish(stub->Participate(context), request,
                       v1::ParticipateResponse());
}

absl::Status TryWatch(Stub* stub, grpc::ClientContext* context,
                      const std::string& session) {
  v1::WatchSessionRequest request;
  request.set_session(session);
  v1::WatchSessionResponse response;
  const auto stream = stub->WatchSession(context, request);
  while (stream->Read(&response)) {
  }
  return ToAbsl(stream->Finish());
}

struct CallCase {
  std::string name;
  // What the documentation says.
  Role least;
  Attempt attempt;
};

std::vector<CallCase> AllCalls() {
  return {
      {"CreateSession", Role::kWorker, Unary(&Stub::CreateSession)},
      {"GetSession", Role::kViewer, Unary(&Stub::GetSession)},
      {"ListSessions", Role::kViewer, Unary(&Stub::ListSessions)},
      {"DeleteSession", Role::kAdmin, Unary(&Stub::DeleteSession)},
      {"RestoreSession", Role::kWorker, Unary(&Stub::RestoreSession)},
      {"ScaleLoss", Role::kWorker, Unary(&Stub::ScaleLoss)},
      {"Unscale", Role::kWorker, TryUnscale},
      {"Update", Role::kWorker, Unary(&Stub::Update)},
      {"JoinSession", Role::kWorker, Unary(&Stub::JoinSession)},
      {"Participate", Role::kWorker, TryParticipate},
      {"LeaveSession", Role::kWorker, Unary(&Stub::LeaveSession)},
      {"WatchSession", Role::kViewer, TryWatch},
      {"ListDecisions", Role::kViewer, Unary(&Stub::ListDecisions)},
      {"GetServerInfo", Role::kViewer, Unary(&Stub::GetServerInfo)},
  };
}

// Tokens and their hashes, by sha256sum.
constexpr char kViewerHash[] =
    "d35ca5051b82ffc326a3b0b6574a9a3161dee16b9478a199ee39cd803ce5b799";
constexpr char kWorkerHash[] =
    "87eba76e7f3164534045ba922e7770fb58bbd14ad732bbf5ba6f11cc56989e6e";
constexpr char kAdminHash[] =
    "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918";
constexpr char kVisionHash[] =
    "5944ae849448011ca08c3785f1de1a54c8a96d6c23f787f9d962b624edd4151d";

std::string TokenEntry(const std::string& name, const std::string& role,
                       const std::string& hash,
                       const std::string& sessions = "") {
  return absl::StrCat("[[token]]\nname = \"the-", name, "\"\nrole = \"", role,
                      "\"\nsessions = \"", sessions, "\"\nsha256 = \"", hash,
                      "\"\n");
}

class TokenCallsTest : public ::testing::Test {
 protected:
  TokenCallsTest() {
    WriteFile(tokens_,
              TokenEntry("viewer", "viewer", kViewerHash) +
                  TokenEntry("worker", "worker", kWorkerHash) +
                  TokenEntry("admin", "admin", kAdminHash) +
                  TokenEntry("vision", "admin", kVisionHash, "vision/"));
    Config config;
    config.listen = {"127.0.0.1:0"};
    config.admin_listen = "";
    config.log_level = LogLevel::kError;
    config.token_file = tokens_;
    auto app = App::StartWithStore(config, std::make_unique<MemoryStore>());
    EXPECT_THAT(app, IsOk());
    app_ = *std::move(app);
    channel_ = grpc::CreateChannel(app_->addresses().front(),
                                   grpc::InsecureChannelCredentials());
    stub_ = v1::LossScalerService::NewStub(channel_);
  }

  // With this authorization header; nullopt: without one.
  absl::Status Try(const Attempt& attempt,
                   const std::optional<std::string>& authorization,
                   const std::string& session) {
    grpc::ClientContext context;
    // Bounds what a broken server could hang.
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    if (authorization.has_value()) {
      context.AddMetadata("authorization", *authorization);
    }
    return attempt(stub_.get(), &context, session);
  }

  const lossscaler::testing::TempDirectory directory_;
  const std::string tokens_ = directory_.path() + "/tokens.toml";
  std::unique_ptr<App> app_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
};

// Whoever is let in finds no session, bad fields or what they wanted.
bool IsLetIn(const absl::Status& status) {
  return status.code() != absl::StatusCode::kUnauthenticated &&
         status.code() != absl::StatusCode::kPermissionDenied &&
         status.code() != absl::StatusCode::kDeadlineExceeded;
}

TEST_F(TokenCallsTest, NoCallIsMadeWithoutATokenThatIsKnown) {
  for (const CallCase& call : AllCalls()) {
    for (const auto& none : std::vector<std::optional<std::string>>{
             std::nullopt, "", "Bearer", "Bearer ",
             "Basic YWRtaW4=", "admin"}) {
      EXPECT_THAT(Try(call.attempt, none, "team/run"),
                  IsError(Reason::kTokenRequired))
          << call.name << " " << none.value_or("none");
    }
    for (const std::string& wrong :
         {std::string("Bearer wrong"), std::string("Bearer Admin"),
          std::string("Bearer admin admin"), std::string("Bearer admin,x"),
          absl::StrCat("Bearer ", kAdminHash),
          "Bearer " + std::string(5000, 'a')}) {
      EXPECT_THAT(Try(call.attempt, wrong, "team/run"),
                  IsError(Reason::kTokenUnknown))
          << call.name << " " << wrong;
    }
  }
}

TEST_F(TokenCallsTest, ARoleMakesItsCallsAndNoOther) {
  const std::pair<Role, std::string> roles[] = {
      {Role::kViewer, "viewer"},
      {Role::kWorker, "worker"},
      {Role::kAdmin, "admin"},
  };
  for (const CallCase& call : AllCalls()) {
    for (const auto& [role, token] : roles) {
      const absl::Status status =
          Try(call.attempt, "Bearer " + token, "team/" + call.name);
      const std::string what = absl::StrCat(call.name, " as ", token);
      if (role >= call.least) {
        EXPECT_TRUE(IsLetIn(status)) << what << ": " << status;
        continue;
      }
      EXPECT_THAT(status, IsErrorSaying(Reason::kNotAllowed, call.name))
          << what;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("\"the-" + token + "\""));
    }
  }
}

TEST_F(TokenCallsTest, APrefixBoundsEveryCallThatNamesASession) {
  for (const CallCase& call : AllCalls()) {
    EXPECT_TRUE(
        IsLetIn(Try(call.attempt, "Bearer vision", "vision/" + call.name)))
        << call.name;
    // Not even by a name that is none, or begins alike.
    for (const std::string& other :
         {"audio/" + call.name, std::string("vision"), std::string("visio"),
          std::string("Vision/x"), std::string("/vision/x"), std::string()}) {
      const absl::Status status = Try(call.attempt, "Bearer vision", other);
      if (call.name == "GetServerInfo") {
        EXPECT_THAT(status, IsOk());
      } else {
        EXPECT_THAT(status, IsErrorSaying(Reason::kNotAllowed, "\"vision/\""))
            << call.name << " " << other;
      }
    }
  }
}

TEST_F(TokenCallsTest, HealthNeedsNoToken) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_TRUE(grpc::health::v1::Health::NewStub(channel_)
                  ->Check(&context, {}, &response)
                  .ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
}

// The call ends at once, not when the budget for servers that are away is
// spent.
TEST_F(TokenCallsTest, TheClientLibraryDoesNotTryAgain) {
  ClientOptions options;
  options.address = app_->addresses().front();
  int waits = 0;
  options.on_wait = [&](const WaitReport&) { ++waits; };
  options.wait_report_interval = absl::ZeroDuration();
  EXPECT_THAT(MakeConnection(options)->GetServerInfo(),
              IsErrorSaying(Reason::kTokenRequired, "--token-file"));
  options.token = "wrong";
  EXPECT_THAT(MakeConnection(options)->GetServerInfo(),
              IsError(Reason::kTokenUnknown));
  options.token = "viewer";
  EXPECT_THAT(MakeConnection(options)->DeleteSession({.name = "a"}),
              IsErrorSaying(Reason::kNotAllowed, "needs the role admin"));
  std::vector<float> values = {1};
  const std::vector<GradientTensor> tensors = {
      InPlace("w", std::span<float>(values))};
  EXPECT_THAT(MakeConnection(options)->Unscale(
                  {.session = {.name = "a"}, .tensors = tensors}),
              IsError(Reason::kNotAllowed));
  EXPECT_EQ(waits, 0);
}

TEST_F(TokenCallsTest, ATokenThatIsTakenBackOpensNoCallButEndsNone) {
  const auto owner = [&](const std::string& token) {
    ClientOptions options;
    options.address = app_->addresses().front();
    options.token = token;
    return MakeConnection(options);
  };
  ASSERT_THAT(owner("worker")->CreateSession("team/run", LossScaler::None(),
                                             IfExists::kFail),
              IsOk());
  const auto vote = [&](std::int64_t step) {
    EXPECT_THAT(
        owner("worker")->Update({.session = {.name = "team/run"},
                                 .step = step,
                                 .vote = {.verdict = Verdict::kFinite}}),
        IsOk());
  };
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(60));
  context.AddMetadata("authorization", "Bearer viewer");
  v1::WatchSessionRequest request;
  request.set_session("team/run");
  request.set_from_step(1);
  const auto watch = stub_->WatchSession(&context, request);
  vote(1);
  v1::WatchSessionResponse response;
  EXPECT_TRUE(watch->Read(&response));

  WriteFile(tokens_, TokenEntry("worker", "worker", kWorkerHash));
  EXPECT_TRUE(PollUntil(std::chrono::seconds(30), [&] {
    return ReasonOf(owner("viewer")->GetServerInfo().status()) ==
           Reason::kTokenUnknown;
  }));
  vote(2);
  EXPECT_TRUE(watch->Read(&response));
  context.TryCancel();
}

}  // namespace
}  // namespace lossscaler::server
