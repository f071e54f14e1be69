// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A whole server in this process: health that follows the store, reflection,
// several at a time.

#include "app.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "lossscaler/wire/status.h"
#include "ops/config.h"
#include "ops/exit_code.h"
#include "store/memory_store.h"
#include "testing/faulty_store.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckResponse;
using ::lossscaler::testing::FaultyStore;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::TempDirectory;

Config FreePort() {
  Config config;
  config.listen = {"127.0.0.1:0"};
  config.admin_listen = "127.0.0.1:0";
  config.store = "memory";
  config.log_level = LogLevel::kError;
  return config;
}

std::shared_ptr<grpc::Channel> Connect(const App& app) {
  return grpc::CreateChannel(app.addresses().front(),
                             grpc::InsecureChannelCredentials());
}

grpc::StatusCode Create(const App& app, const std::string& session) {
  grpc::ClientContext context;
  v1::CreateSessionRequest request;
  request.set_session(session);
  request.mutable_scaler()->mutable_static_()->set_scale(2);
  v1::CreateSessionResponse response;
  return v1::LossScalerService::NewStub(Connect(app))
      ->CreateSession(&context, request, &response)
      .error_code();
}

// Of a part that health does not know: SERVICE_UNKNOWN.
HealthCheckResponse::ServingStatus HealthOf(const App& app,
                                            const std::string& part) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(part);
  HealthCheckResponse response;
  const grpc::Status status =
      Health::NewStub(Connect(app))->Check(&context, request, &response);
  return status.ok() ? response.status() : HealthCheckResponse::SERVICE_UNKNOWN;
}

TEST(App, EveryPartsHealthFollowsTheStoreDownAndUp) {
  MemoryStore memory;
  auto faulty = std::make_unique<FaultyStore>(&memory);
  FaultyStore* const store = faulty.get();
  const auto app = App::StartWithStore(FreePort(), std::move(faulty));
  ASSERT_THAT(app, IsOk());
  const auto expect = [&app](HealthCheckResponse::ServingStatus status) {
    for (const char* part : {kHealthOverall, kHealthService, kHealthStore}) {
      EXPECT_EQ(HealthOf(**app, part), status) << part;
    }
    // Starting the process again would not heal the store.
    EXPECT_EQ(HealthOf(**app, kHealthProcess), HealthCheckResponse::SERVING);
  };
  expect(HealthCheckResponse::SERVING);
  EXPECT_EQ(HealthOf(**app, "kitchen"), HealthCheckResponse::SERVICE_UNKNOWN);

  store->FailNextWrite(FaultyStore::Fault::kNotWritten);
  EXPECT_EQ(Create(**app, "a"), grpc::StatusCode::UNAVAILABLE);
  (*app)->CheckHealth();
  expect(HealthCheckResponse::NOT_SERVING);

  EXPECT_EQ(Create(**app, "b"), grpc::StatusCode::OK);
  (*app)->CheckHealth();
  expect(HealthCheckResponse::SERVING);
}

TEST(App, SeveralServeAtATimeEachWithItsOwnState) {
  const auto first = App::Start(FreePort());
  const auto second = App::Start(FreePort());
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(Create(**first, "s"), grpc::StatusCode::OK);
  EXPECT_EQ(Create(**first, "s"), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ((*first)->Drain(), ExitCode::kDrained);
  EXPECT_EQ(Create(**second, "s"), grpc::StatusCode::OK);
}

// A group of two workers, w0 and w1, which are incarnations 1 and 2.
std::string MakePair(v1::LossScalerService::Stub* stub) {
  v1::CreateSessionRequest create;
  create.set_session("run");
  create.set_kind(v1::SESSION_KIND_GROUP);
  create.mutable_group()->set_max_workers(2);
  create.mutable_scaler()->mutable_static_()->set_scale(2);
  v1::CreateSessionResponse created;
  grpc::ClientContext context;
  EXPECT_TRUE(stub->CreateSession(&context, create, &created).ok());
  for (const std::string worker : {"w0", "w1"}) {
    v1::JoinSessionRequest join;
    join.set_session("run");
    join.set_worker(worker);
    join.set_request_id(worker);
    v1::JoinSessionResponse joined;
    grpc::ClientContext joining;
    EXPECT_TRUE(stub->JoinSession(&joining, join, &joined).ok());
  }
  return created.session().uid();
}

grpc::Status VoteFinite(v1::LossScalerService::Stub* stub,
                        const std::string& uid, const std::string& worker,
                        std::int64_t incarnation,
                        v1::UpdateResponse* response) {
  v1::UpdateRequest vote;
  vote.set_session("run");
  vote.set_session_uid(uid);
  vote.set_worker(worker);
  vote.set_incarnation(incarnation);
  vote.set_step(1);
  vote.set_verdict(v1::VERDICT_FINITE);
  vote.set_scale_used(2);
  vote.mutable_base()->set_session_uid(uid);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  return stub->Update(&context, vote, response);
}

// Whether w0's vote on the open step is in.
bool VoteIsIn(v1::LossScalerService::Stub* stub) {
  v1::GetSessionRequest get;
  get.set_session("run");
  v1::GetSessionResponse got;
  grpc::ClientContext context;
  EXPECT_TRUE(stub->GetSession(&context, get, &got).ok());
  return got.session().workers(0).has_vote();
}

TEST(App, AVoteThatWaitsIsToldOfTheDrainAndDecidedAfterTheRestart) {
  const TempDirectory directory;
  Config config = FreePort();
  config.store = "sqlite:" + directory.path();
  absl::StatusOr<std::unique_ptr<App>> app = App::Start(config);
  ASSERT_THAT(app, IsOk());
  auto stub = v1::LossScalerService::NewStub(Connect(**app));
  const std::string uid = MakePair(stub.get());
  v1::UpdateResponse first;
  std::future<grpc::Status> waiting = std::async(std::launch::async, [&] {
    return VoteFinite(stub.get(), uid, "w0", 1, &first);
  });
  while (!VoteIsIn(stub.get())) std::this_thread::yield();
  EXPECT_EQ((*app)->Drain(), ExitCode::kDrained);
  const grpc::Status told = waiting.get();
  const absl::Status error = wire::StatusFromWire(
      told.error_code(), told.error_message(), told.error_details());
  EXPECT_THAT(error, IsError(Reason::kDraining));
  EXPECT_TRUE(RetryDelayOf(error));
  app->reset();

  app = App::Start(config);
  ASSERT_THAT(app, IsOk());
  stub = v1::LossScalerService::NewStub(Connect(**app));
  waiting = std::async(std::launch::async, [&] {
    return VoteFinite(stub.get(), uid, "w0", 1, &first);
  });
  v1::UpdateResponse second;
  EXPECT_TRUE(VoteFinite(stub.get(), uid, "w1", 2, &second).ok());
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(first.decision().outcome(), v1::OUTCOME_APPLY);
  EXPECT_EQ(first.decision().SerializeAsString(),
            second.decision().SerializeAsString());
}

TEST(App, OpenAddressIsRefusedWithoutInsecure) {
  Config config = FreePort();
  config.listen = {"0.0.0.0:0"};
  const auto app = App::Start(config);
  ASSERT_FALSE(app.ok());
  EXPECT_EQ(ExitCodeOf(app.status()), ExitCode::kConfiguration);
}

// What the server answers to an empty message on the reflection method.
grpc::StatusCode AskReflection(const App& app) {
  grpc::GenericStub stub(Connect(app));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  const auto call = stub.PrepareUnaryCall(
      &context,
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request,
      &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return status.error_code();
}

TEST(App, ReflectionIsThereOnlyIfAskedFor) {
  Config config = FreePort();
  const auto without = App::Start(config);
  config.reflection = true;
  const auto with = App::Start(config);
  ASSERT_THAT(without, IsOk());
  ASSERT_THAT(with, IsOk());
  EXPECT_EQ(AskReflection(**without), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(AskReflection(**with), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace lossscaler::server
