// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A whole server in this process: health that follows the store, reflection,
// several at a time.

#include "app.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "ops/config.h"
#include "ops/exit_code.h"
#include "store/memory_store.h"
#include "testing/faulty_store.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckResponse;
using ::lossscaler::testing::FaultyStore;
using ::lossscaler::testing::IsOk;

Config FreePort() {
  Config config;
  config.listen = {"127.0.0.1:0"};
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
