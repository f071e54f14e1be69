// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/spare_threads.h"

#include <future>
#include <memory>
#include <thread>

#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

// Event threads are there as long as something uses the callback API.
class SpareThreadsTest : public ::testing::Test {
 protected:
  SpareThreadsTest() {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }

  // Takes an event thread for the server and one for the client, one after the
  // other.
  grpc::StatusCode Call() {
    grpc::GenericStub stub(server_->InProcessChannel({}));
    grpc::ClientContext context;
    grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::StatusCode> code;
    stub.UnaryCall(&context, "/none", {}, &request, &response,
                   [&](const grpc::Status& status) {
                     code.set_value(status.error_code());
                   });
    return code.get_future().get();
  }

  // The threads may only just have started.
  static void BeginAndHold(SpareThreads* threads) {
    while (threads->held() == 0) threads->Begin();
  }

  static void WaitUntilHeld(const SpareThreads& threads, int count) {
    while (threads.held() != count) std::this_thread::yield();
  }

  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(SpareThreadsTest, LeavesOneThreadThatDoesEverything) {
  SpareThreads threads;
  EXPECT_EQ(threads.held(), 0);
  BeginAndHold(&threads);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Call(), grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST_F(SpareThreadsTest, WhoKeepsAThreadBusyHasOne) {
  SpareThreads threads;
  BeginAndHold(&threads);
  const int spare = threads.held();
  // The first has the one that is there anyhow.
  threads.Need();
  EXPECT_EQ(threads.held(), spare);
  threads.Need();
  WaitUntilHeld(threads, spare - 1);
  threads.NeedNoMore();
  WaitUntilHeld(threads, spare);
}

TEST_F(SpareThreadsTest, VotesHaveAThreadBesideStreams) {
  SpareThreads threads;
  BeginAndHold(&threads);
  const int spare = threads.held();
  threads.NeedForVotes();
  threads.NeedForVotes();
  EXPECT_EQ(threads.held(), spare);
  threads.Need();
  WaitUntilHeld(threads, spare - 1);
}

TEST_F(SpareThreadsTest, HoldsNoneWhereAllAreNeeded) {
  SpareThreads threads;
  BeginAndHold(&threads);
  for (int i = threads.held(); i >= 0; --i) threads.Need();
  threads.Need();
  WaitUntilHeld(threads, 0);
}

TEST_F(SpareThreadsTest, NeverHoldsTheLastOne) {
  SpareThreads threads;
  BeginAndHold(&threads);
  const int spare = threads.held();
  for (int i = 0; i < 100; ++i) {
    threads.Need();
    threads.NeedNoMore();
    EXPECT_LE(threads.held(), spare);
  }
  EXPECT_EQ(Call(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(SpareThreadsTest, LetsThemGoForGood) {
  SpareThreads threads;
  BeginAndHold(&threads);
  threads.End();
  WaitUntilHeld(threads, 0);
  threads.Begin();
  EXPECT_EQ(threads.held(), 0);
}

}  // namespace
}  // namespace lossscaler::server
