// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The id that a client sends with its calls.

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "testing/poll_until.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::PollUntil;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Refuses every call of every service, and notes the ids it came with.
class RefusingService : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    Note(*context);
    class Refusal : public grpc::ServerGenericBidiReactor {
     public:
      Refusal() { Finish({grpc::StatusCode::UNIMPLEMENTED, "refused"}); }
      void OnDone() override { delete this; }
    };
    return new Refusal;
  }

  // By the last part of the method's name; ids joined by blanks.
  std::map<std::string, std::string> ids() const {
    const MutexLock lock(&mutex_);
    return ids_;
  }

 private:
  void Note(const grpc::GenericCallbackServerContext& context) {
    const std::string method =
        context.method().substr(context.method().rfind('/') + 1);
    std::vector<std::string> ids;
    const auto [first, last] =
        context.client_metadata().equal_range("x-request-id");
    for (auto it = first; it != last; ++it) {
      ids.emplace_back(it->second.data(), it->second.size());
    }
    const MutexLock lock(&mutex_);
    ids_[method] = ::testing::PrintToString(ids);
  }

  mutable Mutex mutex_;
  std::map<std::string, std::string> ids_ ABSL_GUARDED_BY(mutex_);
};

class NothingToHear : public WorkerStreamEvents {
 public:
  void OnOpened(const Membership&) override {}
  void OnChanged(const Membership&) override {}
  void OnHeartbeat(std::int64_t, const Membership&,
                   const absl::Status&) override {}
  void OnVote(std::int64_t, absl::StatusOr<Decision>,
              const std::optional<Current>&) override {}
  void OnClosed(const absl::Status&) override {}
};

class CallIdTest : public ::testing::Test {
 protected:
  CallIdTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    options_.address = absl::StrCat("127.0.0.1:", port);
    options_.unavailable_budget = absl::ZeroDuration();
  }

  // Makes every call once; none is answered.
  void CallEverything() {
    const std::shared_ptr<Connection> connection = MakeConnection(options_);
    const SessionRef session = {.name = "run"};
    const LossScaler scaler = *LossScaler::Static(2);
    std::vector<float> values = {2, 4};
    const std::vector<GradientTensor> tensors = {
        InPlace("w", std::span<float>(values))};
    const float losses[] = {1};
    std::vector<absl::Status> refused = {
        connection->CreateSession("run", scaler, IfExists::kFail).status(),
        connection->GetSession(session).status(),
        connection->ListSessions("", 0, "").status(),
        connection->DeleteSession(session),
        connection->RestoreSession(session, scaler, {}, "").status(),
        connection->ScaleLoss({.session = session, .losses = losses}).status(),
        connection->Unscale({.session = session, .tensors = tensors}).status(),
        connection
            ->Update({.session = session,
                      .step = 1,
                      .vote = {.verdict = Verdict::kFinite}})
            .status(),
        connection->GetServerInfo().status(),
        connection->JoinSession(session, {.worker = "w"}).status(),
        connection->LeaveSession(session, {.worker = "w", .incarnation = 1}),
        connection->ListDecisions(session, {}).status(),
        connection->WatchSession(session, {.from_step = 1},
                                 [](const Decision&) { return true; })};
    for (const absl::Status& status : refused) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    }
    const std::shared_ptr<WorkerStream> stream =
        connection->Participate(session, {.worker = "w", .incarnation = 1},
                                std::make_shared<NothingToHear>());
    EXPECT_TRUE(PollUntil(std::chrono::seconds(30), [&] {
      if (stream->needs_polling()) stream->Poll(absl::Milliseconds(10));
      return service_.ids().contains("Participate");
    }));
  }

  RefusingService service_;
  std::unique_ptr<grpc::Server> server_;
  ClientOptions options_;
};

TEST_F(CallIdTest, GoesWithEveryCallAndEveryStream) {
  options_.call_id = "job-17/attempt:2";
  CallEverything();
  const std::string once = "{ \"job-17/attempt:2\" }";
  EXPECT_THAT(service_.ids(),
              UnorderedElementsAre(
                  Pair("CreateSession", once), Pair("GetSession", once),
                  Pair("ListSessions", once), Pair("DeleteSession", once),
                  Pair("RestoreSession", once), Pair("ScaleLoss", once),
                  Pair("Unscale", once), Pair("Update", once),
                  Pair("GetServerInfo", once), Pair("JoinSession", once),
                  Pair("LeaveSession", once), Pair("ListDecisions", once),
                  Pair("WatchSession", once), Pair("Participate", once)));
}

TEST_F(CallIdTest, IsNotSentUnlessThereIsOne) {
  CallEverything();
  ASSERT_EQ(service_.ids().size(), 14u);
  for (const auto& [method, ids] : service_.ids()) {
    EXPECT_EQ(ids, "{}") << method;
  }
}

TEST_F(CallIdTest, ThatCannotBeSentIsRefusedAndNothingIsSent) {
  for (const std::string& id :
       {std::string("two words"), std::string("line\nbreak"),
        std::string("\xc3\xa9"), std::string("nul\0", 4),
        std::string(129, 'x')}) {
    options_.call_id = id;
    const absl::Status refused =
        MakeConnection(options_)->GetServerInfo().status();
    EXPECT_THAT(refused, IsError(Reason::kInvalidField));
    EXPECT_EQ(MetadataOf(refused)["field"], "call_id");
  }
  EXPECT_THAT(service_.ids(), IsEmpty());
  options_.call_id = std::string(128, '~');
  EXPECT_EQ(MakeConnection(options_)->GetServerInfo().status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace lossscaler
