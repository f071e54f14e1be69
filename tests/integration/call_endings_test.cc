// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Every unary method x every way that a call can end. Unscale, which streams,
// has its own in unscale_rpc_test.cc.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::Await;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::ToAbsl;
using ::testing::TestWithParam;

using Stub = v1::LossScalerService::Stub;

// One valid call of a method on session "run", which is at step 1.
struct Method {
  std::string name;
  // Whether its answer waits for a write of the same session.
  bool waits;
  std::function<absl::Status(Stub*, grpc::ClientContext*)> call;
  // The same with something that no state makes right; null if there is no such
  // thing.
  std::function<absl::Status(Stub*, grpc::ClientContext*)> bad_call;
  Reason bad_reason;
};

template <typename Response, typename Request, typename Rpc>
std::function<absl::Status(Stub*, grpc::ClientContext*)> Call(
    Rpc rpc, const std::function<void(Request*)>& fill) {
  return [rpc, fill](Stub* stub, grpc::ClientContext* context) {
    Request request;
    fill(&request);
    Response response;
    return ToAbsl((stub->*rpc)(context, request, &response));
  };
}

std::vector<Method> Methods() {
  std::vector<Method> methods;
  const auto create = [](std::string name) {
    return Call<v1::CreateSessionResponse, v1::CreateSessionRequest>(
        &Stub::CreateSession, [name](v1::CreateSessionRequest* request) {
          request->set_session(name);
          request->mutable_scaler()->mutable_none();
        });
  };
  methods.push_back({"CreateSession", true, create("another"),
                     create("no spaces"), Reason::kInvalidSessionName});
  const auto get = [](std::string name) {
    return Call<v1::GetSessionResponse, v1::GetSessionRequest>(
        &Stub::GetSession,
        [name](v1::GetSessionRequest* request) { request->set_session(name); });
  };
  methods.push_back(
      {"GetSession", true, get("run"), get("x"), Reason::kSessionNotFound});
  const auto list = [](int size) {
    return Call<v1::ListSessionsResponse, v1::ListSessionsRequest>(
        &Stub::ListSessions, [size](v1::ListSessionsRequest* request) {
          request->set_page_size(size);
        });
  };
  methods.push_back(
      {"ListSessions", false, list(10), list(-1), Reason::kInvalidField});
  const auto remove = [](std::string request_id) {
    return Call<v1::DeleteSessionResponse, v1::DeleteSessionRequest>(
        &Stub::DeleteSession, [request_id](v1::DeleteSessionRequest* request) {
          request->set_session("run");
          request->set_request_id(request_id);
        });
  };
  methods.push_back({"DeleteSession", true, remove("d1"), remove("a b"),
                     Reason::kInvalidField});
  const auto restore = [](double scale) {
    return Call<v1::RestoreSessionResponse, v1::RestoreSessionRequest>(
        &Stub::RestoreSession, [scale](v1::RestoreSessionRequest* request) {
          request->set_session("run");
          request->mutable_state()->mutable_dynamic()->set_scale(scale);
        });
  };
  methods.push_back({"RestoreSession", true, restore(1024), restore(-1),
                     Reason::kInvalidScaler});
  const auto scale = [](int step) {
    return Call<v1::ScaleLossResponse, v1::ScaleLossRequest>(
        &Stub::ScaleLoss, [step](v1::ScaleLossRequest* request) {
          request->set_session("run");
          request->set_step(step);
          request->add_losses(1.0f);
        });
  };
  methods.push_back(
      {"ScaleLoss", false, scale(1), scale(7), Reason::kStepAhead});
  const auto update = [](int step) {
    return Call<v1::UpdateResponse, v1::UpdateRequest>(
        &Stub::Update, [step](v1::UpdateRequest* request) {
          request->set_session("run");
          request->set_step(step);
          request->set_verdict(v1::VERDICT_FINITE);
        });
  };
  methods.push_back({"Update", true, update(1), update(7), Reason::kStepAhead});
  const auto get_info =
      Call<v1::GetServerInfoResponse, v1::GetServerInfoRequest>(
          &Stub::GetServerInfo, [](v1::GetServerInfoRequest*) {});
  methods.push_back({"GetServerInfo", false, get_info, nullptr, {}});
  return methods;
}

class CallEndings : public TestWithParam<Method> {
 protected:
  CallEndings() {
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.mutable_scaler()->mutable_dynamic()->set_scale(65536);
    v1::CreateSessionResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->CreateSession(&context, request, &response).ok());
    before_ = Look();
  }

  // A session as the server shows it; "" if there is none.
  std::string Look(const std::string& name = "run") {
    v1::GetSessionRequest request;
    request.set_session(name);
    v1::GetSessionResponse response;
    grpc::ClientContext context;
    if (!stub_->GetSession(&context, request, &response).ok()) return "";
    return response.session().SerializeAsString();
  }

  // Whether the write that was under way counts although nobody waits for it.
  bool ChangeStands() {
    return GetParam().name == "CreateSession" ? !Look("another").empty()
                                              : Look() != before_;
  }

  // Starts the call, and returns when a write of the session is held back
  // that it waits for: its own, or for GetSession the one of a vote before it.
  std::thread StartHeld(grpc::ClientContext* context, absl::Status* result) {
    server_.store().Hold();
    if (GetParam().name == "GetSession") {
      voter_ = std::thread([this] { Vote(); });
      AwaitHeld();
    }
    std::thread call([this, context, result] {
      *result = GetParam().call(stub_.get(), context);
    });
    AwaitHeld();
    return call;
  }

  void AwaitHeld() {
    EXPECT_TRUE(Await([this] { return server_.store().held() == 1; }));
  }

  void Vote() {
    grpc::ClientContext context;
    v1::UpdateRequest request;
    request.set_session("run");
    request.set_step(1);
    request.set_verdict(v1::VERDICT_FINITE);
    v1::UpdateResponse response;
    stub_->Update(&context, request, &response);
  }

  void ReleaseWrites() {
    server_.store().Release();
    if (voter_.joinable()) voter_.join();
  }

  InProcessServer server_;
  std::unique_ptr<Stub> stub_ = server_.NewStub();
  std::string before_;
  std::thread voter_;
};

std::vector<Method> MethodsThat(bool (*is)(const Method&)) {
  std::vector<Method> methods = Methods();
  std::erase_if(methods, [is](const Method& method) { return !is(method); });
  return methods;
}

std::string NameOf(const ::testing::TestParamInfo<Method>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Methods, CallEndings, ::testing::ValuesIn(Methods()),
                         NameOf);

// Methods whose request can be wrong.
class RefusableCallEndings : public CallEndings {};
INSTANTIATE_TEST_SUITE_P(Methods, RefusableCallEndings,
                         ::testing::ValuesIn(MethodsThat([](const Method& m) {
                           return m.bad_call != nullptr;
                         })),
                         NameOf);

// Methods that wait for the store; the others answer at once and are never
// open.
class WaitingCallEndings : public CallEndings {};
INSTANTIATE_TEST_SUITE_P(Methods, WaitingCallEndings,
                         ::testing::ValuesIn(MethodsThat([](const Method& m) {
                           return m.waits;
                         })),
                         NameOf);

TEST_P(CallEndings, Succeeds) {
  grpc::ClientContext context;
  EXPECT_THAT(GetParam().call(stub_.get(), &context), IsOk());
}

TEST_P(RefusableCallEndings, BadInputIsRefusedAndChangesNothing) {
  grpc::ClientContext context;
  EXPECT_THAT(GetParam().bad_call(stub_.get(), &context),
              IsError(GetParam().bad_reason));
  EXPECT_EQ(Look(), before_);
}

TEST_P(CallEndings, DrainingServerAsksToTryAgain) {
  server_.gate().Close();
  grpc::ClientContext context;
  const absl::Status status = GetParam().call(stub_.get(), &context);
  EXPECT_THAT(status, IsError(Reason::kDraining));
  EXPECT_EQ(RetryDelayOf(status), server::Limits().retry_delay);
}

TEST(TooManyCalls, AreAskedToWaitUntilOneHasEnded) {
  server::Limits limits;
  limits.max_open_calls = 1;
  InProcessServer server(limits);
  const std::unique_ptr<Stub> stub = server.NewStub();
  const auto info = [&stub] {
    grpc::ClientContext context;
    v1::GetServerInfoResponse response;
    return ToAbsl(stub->GetServerInfo(&context, {}, &response));
  };
  grpc::ClientContext context;
  const auto stream = stub->Unscale(&context);
  ASSERT_TRUE(Await([&server] { return server.gate().open() == 1; }));
  const absl::Status refused = info();
  EXPECT_THAT(refused, IsError(Reason::kTooManyCalls));
  EXPECT_EQ(RetryDelayOf(refused), limits.retry_delay);
  grpc::ClientContext second;
  EXPECT_THAT(ToAbsl(stub->Unscale(&second)->Finish()),
              IsError(Reason::kTooManyCalls));
  context.TryCancel();
  stream->Finish();
  ASSERT_TRUE(server.gate().WaitUntilEmpty(absl::Seconds(10)));
  EXPECT_THAT(info(), IsOk());
}

TEST_P(WaitingCallEndings, CancelledWhileOpenFreesTheCallerAndKeepsTheChange) {
  grpc::ClientContext context;
  absl::Status result;
  std::thread call = StartHeld(&context, &result);
  context.TryCancel();
  call.join();
  EXPECT_THAT(result, HasCode(absl::StatusCode::kCancelled));
  ReleaseWrites();
  EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  EXPECT_TRUE(ChangeStands());
}

TEST_P(WaitingCallEndings, DeadlineWhileOpenFreesTheCallerAndKeepsTheChange) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(1));
  absl::Status result;
  std::thread call = StartHeld(&context, &result);
  call.join();
  EXPECT_THAT(result, HasCode(absl::StatusCode::kDeadlineExceeded));
  ReleaseWrites();
  EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  EXPECT_TRUE(ChangeStands());
}

TEST_P(WaitingCallEndings, ServerShutdownWhileOpenIsUnavailableOrCancelled) {
  grpc::ClientContext context;
  absl::Status result;
  std::thread call = StartHeld(&context, &result);
  // Shutdown cancels the call, then waits for its handler, which waits for
  // the store.
  std::thread shutdown = server_.ShutdownInBackground();
  call.join();
  EXPECT_THAT(result, ::testing::AnyOf(HasCode(absl::StatusCode::kUnavailable),
                                       HasCode(absl::StatusCode::kCancelled)));
  ReleaseWrites();
  shutdown.join();
}

}  // namespace
}  // namespace lossscaler
