// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a whole server says on its admin port of what is done to it over gRPC.

#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "app.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/run_step.h"
#include "lossscaler/client/worker_session.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "ops/config.h"
#include "ops/exit_code.h"
#include "store/memory_store.h"
#include "testing/call_status.h"
#include "testing/faulty_store.h"
#include "testing/http_socket.h"
#include "testing/poll_until.h"
#include "testing/prometheus_text.h"
#include "testing/status_matchers.h"
#include "testing/unscale_dialog.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::BytesOf;
using ::lossscaler::testing::FaultyStore;
using ::lossscaler::testing::HttpGet;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::PollUntil;
using ::lossscaler::testing::PrometheusText;
using ::lossscaler::testing::ToAbsl;
using ::lossscaler::testing::UnscaleDialog;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Optional;
using ::testing::StartsWith;
using Stub = v1::LossScalerService::Stub;

// Bounds what a broken server could hang.
constexpr std::chrono::seconds kLimit(30);

class ServerMetricsTest : public ::testing::Test {
 protected:
  ServerMetricsTest() { Start(/*session_metrics=*/false); }

  void Start(bool session_metrics) {
    stub_.reset();
    app_.reset();
    server::Config config;
    config.listen = {"127.0.0.1:0"};
    config.admin_listen = "127.0.0.1:0";
    config.session_metrics = session_metrics;
    config.log_level = server::LogLevel::kError;
    auto store = std::make_unique<FaultyStore>(&memory_);
    store_ = store.get();
    absl::StatusOr<std::unique_ptr<server::App>> app =
        server::App::StartWithStore(config, std::move(store));
    ASSERT_THAT(app, IsOk());
    app_ = *std::move(app);
    stub_ = v1::LossScalerService::NewStub(grpc::CreateChannel(
        app_->addresses().front(), grpc::InsecureChannelCredentials()));
  }

  std::string Get(std::string_view path) const {
    return HttpGet(app_->admin_address(), path);
  }

  PrometheusText Scrape() const {
    const std::string answer = Get("/metrics");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    absl::StatusOr<PrometheusText> text = PrometheusText::Parse(
        std::string_view(answer).substr(answer.find("\r\n\r\n") + 4));
    EXPECT_THAT(text, IsOk());
    return text.ok() ? *std::move(text) : PrometheusText();
  }

  // Whether a gauge gets there: what a call holds is given back after its
  // answer.
  bool Becomes(std::string_view series, double value) const {
    return PollUntil(kLimit, [&] { return Scrape().Find(series) == value; });
  }

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*rpc)(grpc::ClientContext*,
                                              const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLimit);
    return ToAbsl((stub_.get()->*rpc)(&context, request, response));
  }

  absl::Status CreateSolo(const std::string& session) {
    v1::CreateSessionRequest request;
    request.set_session(session);
    request.mutable_scaler()->mutable_dynamic()->set_scale(1024);
    v1::CreateSessionResponse response;
    return Call(&Stub::CreateSession, request, &response);
  }

  absl::Status Update(std::int64_t step, v1::Verdict verdict) {
    v1::UpdateRequest request;
    request.set_session("run");
    request.set_step(step);
    request.set_verdict(verdict);
    v1::UpdateResponse response;
    return Call(&Stub::Update, request, &response);
  }

  server::MemoryStore memory_;
  FaultyStore* store_ = nullptr;
  std::unique_ptr<server::App> app_;
  std::unique_ptr<Stub> stub_;
};

TEST_F(ServerMetricsTest, StepsOfASoloSessionAreCounted) {
  const absl::Time begin = absl::Now();
  ASSERT_THAT(CreateSolo("run"), IsOk());
  ASSERT_THAT(Update(1, v1::VERDICT_FINITE), IsOk());
  ASSERT_THAT(Update(2, v1::VERDICT_OVERFLOW), IsOk());
  // Its answer was lost: the same decision, not another one.
  ASSERT_THAT(Update(2, v1::VERDICT_OVERFLOW), IsOk());
  EXPECT_THAT(Update(9, v1::VERDICT_FINITE), IsError(Reason::kStepAhead));

  const PrometheusText text = Scrape();
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="APPLY",reason="FINITE"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="SKIP_OVERFLOW",reason="OVERFLOW"})"),
      Optional(1));
  EXPECT_THAT(text.Find("lossscaler_last_decision_timestamp_seconds"),
              // Times of the server are in microseconds.
              Optional(AllOf(
                  Ge(absl::ToDoubleSeconds(begin - absl::UnixEpoch()) - 1),
                  Le(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())))));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_rpc_calls_total{code="OK",method="CreateSession"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(R"(lossscaler_rpc_calls_total{code="OK",method="Update"})"),
      Optional(3));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_rpc_calls_total{code="FAILED_PRECONDITION",method="Update"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_rpc_errors_total{method="Update",reason="STEP_AHEAD"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(R"(lossscaler_rpc_duration_seconds_count{method="Update"})"),
      Optional(4));
  EXPECT_THAT(text.Find("lossscaler_decision_wait_seconds_count"), Optional(3));
  EXPECT_THAT(text.Find("lossscaler_waiting_votes"), Optional(0));
  EXPECT_THAT(text.Find(R"(lossscaler_sessions{kind="solo"})"), Optional(1));
  // The session and two decisions.
  EXPECT_THAT(text.Find("lossscaler_store_write_seconds_count"), Optional(3));
  EXPECT_THAT(text.Find("lossscaler_store_write_failures_total"), Optional(0));
  EXPECT_THAT(text.Find("lossscaler_store_healthy"), Optional(1));
  EXPECT_TRUE(Becomes("lossscaler_rpc_open_calls", 0));
}

TEST_F(ServerMetricsTest, ARefusedCallIsCountedUnderItsReason) {
  v1::GetSessionRequest request;
  request.set_session("nobody");
  v1::GetSessionResponse response;
  EXPECT_THAT(Call(&Stub::GetSession, request, &response),
              IsError(Reason::kSessionNotFound));
  const PrometheusText text = Scrape();
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_rpc_calls_total{code="NOT_FOUND",method="GetSession"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_rpc_errors_total{method="GetSession",reason="SESSION_NOT_FOUND"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(R"(lossscaler_rpc_calls_total{code="OK",method="GetSession"})"),
      Optional(0));
}

TEST_F(ServerMetricsTest, WhatUnscaleFindsIsCounted) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ASSERT_THAT(CreateSolo("run"), IsOk());
  UnscaleDialog call(stub_.get());
  call.Open(UnscaleDialog::OpenFor("s", 6));
  ASSERT_TRUE(call.Read().has_opened());
  const PrometheusText open = Scrape();
  EXPECT_THAT(open.Find("lossscaler_unscale_streams"), Optional(1));
  // A chunk and an answer of the largest size, at least.
  EXPECT_THAT(open.Find("lossscaler_bytes_in_flight"), Optional(Ge(1 << 20)));
  EXPECT_THAT(open.Find("lossscaler_rpc_open_calls"), Optional(Ge(1)));

  call.Chunk(0, 0, BytesOf<float>({1, kNan, 2, kInfinity}));
  call.Chunk(0, 4, BytesOf<float>({-kInfinity, 3}));
  call.HalfClose();
  ASSERT_THAT(call.Finish(), IsOk());
  const PrometheusText text = Scrape();
  EXPECT_THAT(text.Find("lossscaler_unscale_bytes_total"), Optional(24));
  EXPECT_THAT(text.Find("lossscaler_unscale_elements_total"), Optional(6));
  EXPECT_THAT(text.Find(R"(lossscaler_non_finite_values_total{kind="nan"})"),
              Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_non_finite_values_total{kind="inf"})"),
              Optional(2));
  EXPECT_THAT(
      text.Find(R"(lossscaler_rpc_calls_total{code="OK",method="Unscale"})"),
      Optional(1));
  EXPECT_TRUE(Becomes("lossscaler_unscale_streams", 0));
  EXPECT_TRUE(Becomes("lossscaler_bytes_in_flight", 0));
}

// Takes as long as the shortest lease, 5 s.
TEST_F(ServerMetricsTest, AGroupsLostWorkerIsCounted) {
  Client client({.address = app_->addresses().front()});
  GroupConfig group;
  group.min_workers = group.max_workers = 2;
  group.lease_ttl = kMinLeaseTtl;
  ASSERT_THAT(
      client.OpenGroup("run", *LossScaler::Dynamic(1024, 2, 1000), group),
      IsOk());
  // One that joins and is never heard of again.
  v1::JoinSessionRequest join;
  join.set_session("run");
  join.set_worker("silent");
  join.set_request_id("join");
  v1::JoinSessionResponse joined;
  ASSERT_THAT(Call(&Stub::JoinSession, join, &joined), IsOk());
  absl::StatusOr<WorkerSession> worker =
      client.JoinGroup("run", {.worker = "live"});
  ASSERT_THAT(worker, IsOk());
  EXPECT_THAT(Scrape().Find(R"(lossscaler_workers{state="active"})"),
              Optional(2));

  std::vector<float> gradients = {1.0F};
  const GradientTensor tensors[] = {InPlace("g", std::span(gradients))};
  const absl::StatusOr<StepResult> result = RunStep(
      *worker, [](WorkerStep&) { return absl::OkStatus(); }, tensors,
      [](const ApplyPermit&) { return absl::OkStatus(); });
  ASSERT_THAT(result, IsOk());
  ASSERT_EQ(result->decision().reason, DecisionReason::kWorkerLost);

  const PrometheusText text = Scrape();
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="SKIP",reason="WORKER_LOST"})"),
      Optional(1));
  EXPECT_THAT(text.Find("lossscaler_workers_joined_total"), Optional(2));
  EXPECT_THAT(text.Find("lossscaler_lease_expiries_total"), Optional(1));
  EXPECT_THAT(text.Find("lossscaler_workers_left_total"), Optional(0));
  EXPECT_THAT(text.Find(R"(lossscaler_workers{state="active"})"), Optional(1));
  EXPECT_THAT(text.Find("lossscaler_decision_wait_seconds_count"), Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_sessions{kind="group"})"), Optional(1));

  EXPECT_THAT(worker->Leave(), IsOk());
  const PrometheusText after = Scrape();
  EXPECT_THAT(after.Find("lossscaler_workers_left_total"), Optional(1));
  EXPECT_THAT(after.Find(R"(lossscaler_workers{state="active"})"), Optional(0));
}

TEST_F(ServerMetricsTest, ReadinessFollowsTheStoreAndHealthDoesNot) {
  EXPECT_THAT(Get("/readyz"), StartsWith("HTTP/1.1 200 "));
  store_->FailNextWrite(FaultyStore::Fault::kNotWritten);
  EXPECT_THAT(CreateSolo("run"), IsError(Reason::kStoreUnavailable));
  app_->CheckHealth();
  EXPECT_THAT(Get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "),
                                    HasSubstr("the test made the store fail")));
  EXPECT_THAT(Get("/healthz"), StartsWith("HTTP/1.1 200 "));
  PrometheusText text = Scrape();
  EXPECT_THAT(text.Find("lossscaler_store_healthy"), Optional(0));
  EXPECT_THAT(text.Find("lossscaler_store_write_failures_total"), Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_sessions{kind="solo"})"), Optional(0));

  EXPECT_THAT(CreateSolo("run"), IsOk());
  app_->CheckHealth();
  EXPECT_THAT(Get("/readyz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Scrape().Find("lossscaler_store_healthy"), Optional(1));
}

TEST_F(ServerMetricsTest, AServerThatDrainsIsHealthyButNotReady) {
  ASSERT_THAT(CreateSolo("run"), IsOk());
  // May go on, and so keeps the server from ending.
  UnscaleDialog call(stub_.get());
  call.Open(UnscaleDialog::OpenFor("s", 1));
  ASSERT_TRUE(call.Read().has_opened());
  std::future<server::ExitCode> drained =
      std::async(std::launch::async, [this] { return app_->Drain(); });
  EXPECT_TRUE(PollUntil(kLimit, [this] {
    const std::string answer = Get("/readyz");
    return answer.starts_with("HTTP/1.1 503 ") &&
           answer.find("draining") != std::string::npos;
  }));
  EXPECT_THAT(Get("/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Scrape().Find("lossscaler_unscale_streams"), Optional(1));
  call.Chunk(0, 0, BytesOf<float>({1}));
  call.HalfClose();
  EXPECT_THAT(call.Finish(), IsOk());
  EXPECT_EQ(drained.get(), server::ExitCode::kDrained);
}

TEST_F(ServerMetricsTest, SessionsThatWereThereAtTheStartAreCounted) {
  ASSERT_THAT(CreateSolo("run"), IsOk());
  ASSERT_THAT(Update(1, v1::VERDICT_OVERFLOW), IsOk());
  Start(/*session_metrics=*/true);
  PrometheusText text = Scrape();
  EXPECT_THAT(text.Find(R"(lossscaler_sessions{kind="solo"})"), Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_session_scale{session="run"})"),
              Optional(512));
  EXPECT_THAT(text.Find(R"(lossscaler_session_step{session="run"})"),
              Optional(2));
  // Of the server before.
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_session_last_decision_timestamp_seconds{session="run"})"),
      Optional(0));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="SKIP_OVERFLOW",reason="OVERFLOW"})"),
      Optional(0));

  v1::DeleteSessionRequest request;
  request.set_session("run");
  v1::DeleteSessionResponse response;
  ASSERT_THAT(Call(&Stub::DeleteSession, request, &response), IsOk());
  text = Scrape();
  EXPECT_THAT(text.Find(R"(lossscaler_sessions{kind="solo"})"), Optional(0));
  EXPECT_THAT(text.Find(R"(lossscaler_session_scale{session="run"})"),
              Eq(std::nullopt));
}

}  // namespace
}  // namespace lossscaler
