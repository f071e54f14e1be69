// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Workers of the client library against the real service, over gRPC.

#include "lossscaler/client/worker_session.h"

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/run_step.h"
#include "testing/cutting_proxy.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::CuttingProxy;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsOk;

// Answers to workers need not list the votes; the journal does.
std::vector<Decision> WithoutVotes(std::vector<Decision> decisions) {
  for (Decision& decision : decisions) decision.votes.clear();
  return decisions;
}

TEST(WorkerSessionServiceTest, WorkersSeeTheSameDecisionsAndSoDoesTheJournal) {
  constexpr int kSteps = 6;
  InProcessServer server;
  const ClientOptions options{.address = server.address()};
  Client client(options);
  GroupConfig config;
  config.min_workers = config.max_workers = 2;
  ASSERT_THAT(
      client.OpenGroup("run", *LossScaler::Dynamic(1024, 2, 1000), config),
      IsOk());

  std::vector<Decision> seen[2];
  const auto work = [&](int rank) {
    absl::StatusOr<WorkerSession> worker = Client(options).JoinGroup(
        "run", {.worker = "rank-" + std::to_string(rank)});
    ASSERT_THAT(worker, IsOk());
    for (int i = 0; i < kSteps; ++i) {
      // Rank 0 overflows in the third step.
      std::vector<float> gradients = {
          rank == 0 && i == 2 ? std::numeric_limits<float>::infinity() : 1.0F};
      const GradientTensor tensors[] = {InPlace("g", std::span(gradients))};
      const absl::StatusOr<StepResult> result = RunStep(
          *worker, [](WorkerStep&) { return absl::OkStatus(); }, tensors,
          [](const ApplyPermit&) { return absl::OkStatus(); });
      ASSERT_THAT(result, IsOk());
      seen[rank].push_back(result->decision());
    }
    EXPECT_THAT(worker->Leave(), IsOk());
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  ASSERT_EQ(seen[0].size(), kSteps);
  EXPECT_EQ(seen[0], seen[1]);
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_EQ(seen[0][i].outcome,
              i == 2 ? Outcome::kSkipOverflow : Outcome::kApply);
  }

  const std::shared_ptr<Connection> connection = MakeConnection(options);
  const absl::StatusOr<DecisionPage> page =
      connection->ListDecisions({.name = "run"}, {.step = 3});
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->decisions.size(), 1);
  EXPECT_GE(page->decisions[0].votes.size(), 1) << "who overflowed is in";
  EXPECT_EQ(WithoutVotes(page->decisions), WithoutVotes({seen[0][2]}));
  std::vector<Decision> watched;
  EXPECT_THAT(connection->WatchSession({.name = "run"}, {.from_step = 1},
                                       [&](const Decision& decision) {
                                         watched.push_back(decision);
                                         return decision.step < kSteps;
                                       }),
              IsOk());
  EXPECT_EQ(WithoutVotes(watched), WithoutVotes(seen[0]));
}

TEST(WorkerSessionServiceTest, ALostConnectionGoesUnnoticed) {
  constexpr int kSteps = 40;
  InProcessServer server;
  const std::string& address = server.address();
  // In the middle of what the server says in these steps.
  CuttingProxy proxy(std::stoi(address.substr(address.rfind(':') + 1)), 4000);
  const ClientOptions options{.address = proxy.address()};
  Client client(options);
  ASSERT_THAT(client.OpenGroup("run", *LossScaler::Dynamic(1024, 2, 1000), {}),
              IsOk());
  absl::StatusOr<WorkerSession> worker =
      client.JoinGroup("run", {.worker = "rank-0"});
  ASSERT_THAT(worker, IsOk());
  for (int i = 1; i <= kSteps; ++i) {
    std::vector<float> gradients = {1.0F};
    const GradientTensor tensors[] = {InPlace("g", std::span(gradients))};
    const absl::StatusOr<StepResult> result = RunStep(
        *worker, [](WorkerStep&) { return absl::OkStatus(); }, tensors,
        [](const ApplyPermit&) { return absl::OkStatus(); });
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->decision().step, i);
    EXPECT_TRUE(result->decision().apply());
  }
  EXPECT_TRUE(proxy.cut());
  EXPECT_EQ(worker->base().step, kSteps);
  EXPECT_THAT(worker->Leave(), IsOk());
}

}  // namespace
}  // namespace lossscaler
