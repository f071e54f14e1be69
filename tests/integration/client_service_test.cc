// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The client library against the real service.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/eigen.h"
#include "lossscaler/core/error.h"
#include "testing/cutting_proxy.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::CuttingProxy;
using ::lossscaler::testing::FaultyStore;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Each;
using ::testing::ElementsAre;

// Limits that let a client which is asked to wait come back soon.
server::Limits PromptLimits() {
  server::Limits limits;
  limits.retry_delay = absl::Milliseconds(20);
  return limits;
}

LossScaler Scaler(double scale) {
  return LossScaler::Dynamic(scale, 2.0, 1000).value();
}

class ClientService : public ::testing::Test {
 protected:
  ClientOptions Options() const {
    ClientOptions options;
    options.address = server_.address();
    return options;
  }

  InProcessServer server_{PromptLimits()};
  Client client_{Options()};
};

TEST_F(ClientService, TrainsOneStepAfterAnother) {
  absl::StatusOr<Session> session = client_.OpenSession("run", Scaler(4));
  ASSERT_THAT(session, IsOk());
  {
    Step step = session->BeginStep();
    EXPECT_THAT(step.ScaleLoss(1.5f), testing::IsOkAndHolds(6.0f));
    std::vector<float> gradients = {4, -8, 12};
    const absl::StatusOr<UnscaleResult> found =
        step.Unscale(std::vector{InPlace("w", gradients)});
    ASSERT_THAT(found, IsOk());
    EXPECT_THAT(gradients, ElementsAre(1, -2, 3));
    EXPECT_DOUBLE_EQ(found->norm(), std::sqrt(14.0));
    const absl::StatusOr<Decision> decision = step.Update();
    ASSERT_THAT(decision, IsOk());
    EXPECT_TRUE(decision->apply());
  }
  Step step = session->BeginStep();
  EXPECT_EQ(step.number(), 2);
  EXPECT_EQ(step.base(), 1);
  std::vector<float> gradients = {std::numeric_limits<float>::infinity()};
  ASSERT_THAT(step.Unscale(std::vector{InPlace("w", gradients)}), IsOk());
  const absl::StatusOr<Decision> decision = step.Update();
  ASSERT_THAT(decision, IsOk());
  EXPECT_FALSE(decision->apply());
  EXPECT_EQ(session->current().scale, 2);
}

TEST_F(ClientService, AnAbandonedStepIsSkippedWithoutPenalty) {
  absl::StatusOr<Session> session = client_.OpenSession("run", Scaler(4));
  ASSERT_THAT(session, IsOk());
  { Step step = session->BeginStep(); }
  const absl::StatusOr<SessionInfo> info = session->Refresh();
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->current.step, 2);
  EXPECT_EQ(info->current.scale, 4);
  EXPECT_EQ(info->last_decision->outcome, Outcome::kSkip);
  EXPECT_EQ(info->skipped, 1);
}

TEST_F(ClientService, ASessionThatWasReplacedIsNotMistakenForTheOld) {
  absl::StatusOr<Session> old = client_.OpenSession("run", Scaler(4));
  ASSERT_THAT(old, IsOk());
  ASSERT_THAT(client_.DeleteSession("run"), IsOk());
  ASSERT_THAT(client_.CreateSession("run", Scaler(4)), IsOk());
  Step step = old->BeginStep();
  EXPECT_THAT(step.ScaleLoss(1), IsError(Reason::kSessionReplaced));
  EXPECT_THAT(step.Skip(), IsError(Reason::kSessionReplaced));
}

TEST_F(ClientService, ARestoredCheckpointContinuesTheScaler) {
  absl::StatusOr<Session> session = client_.OpenSession("run", Scaler(4));
  ASSERT_THAT(session, IsOk());
  const LossScaler saved =
      LossScaler::Dynamic({.initial_scale = 4, .growth_interval = 1000},
                          {.scale = 64, .steps_since_overflow = 998})
          .value();
  const absl::StatusOr<Decision> restored = session->Restore(saved);
  ASSERT_THAT(restored, IsOk());
  EXPECT_EQ(restored->outcome, Outcome::kAborted);
  // Two clean steps complete the interval of 1,000.
  for (const double scale : {64.0, 128.0}) {
    Step step = session->BeginStep();
    step.AddVerdict(UnscaleVerdict{.element_count = 1});
    ASSERT_THAT(step.Update(), IsOk());
    EXPECT_EQ(session->current().scale, scale);
  }
}

TEST_F(ClientService, AnOutageOfTheStoreIsWaitedOut) {
  absl::StatusOr<Session> session = client_.OpenSession("run", Scaler(4));
  ASSERT_THAT(session, IsOk());
  for (int i = 0; i < 3; ++i) {
    server_.store().FailNextWrite(FaultyStore::Fault::kNotWritten);
  }
  Step step = session->BeginStep();
  ASSERT_THAT(step.Skip(), IsOk());
  EXPECT_EQ(session->current().step, 2);
  EXPECT_EQ(server_.store().commits(), 5);  // Create, three failures, one vote.
}

TEST_F(ClientService, ASpentBudgetIsNeitherApplyNorSkip) {
  absl::StatusOr<Session> session = client_.OpenSession("run", Scaler(4));
  ASSERT_THAT(session, IsOk());
  ClientOptions options = Options();
  options.unavailable_budget = absl::Milliseconds(50);
  absl::StatusOr<Session> hasty = Client(options).GetSession("run");
  ASSERT_THAT(hasty, IsOk());
  for (int i = 0; i < 50; ++i) {
    server_.store().FailNextWrite(FaultyStore::Fault::kNotWritten);
  }
  Step step = hasty->BeginStep();
  EXPECT_THAT(step.Skip(), IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_EQ(session->Refresh()->current.step, 1);
}

// Values that show a second division, a lost one, or a wrong order.
template <typename T>
std::vector<T> Values(std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.0f, 1000.0f);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}

template <typename T>
std::vector<T> Divided(const std::vector<T>& values, float scale) {
  std::vector<T> result;
  for (const T value : values) {
    result.push_back(static_cast<T>(static_cast<float>(value) / scale));
  }
  return result;
}

TEST_F(ClientService, UnscaleSurvivesANetworkThatBreaksAnywhere) {
  // 12 chunks of 1 KiB over two tensors: about 14 KiB come back.
  const std::vector<float> first = Values<float>(2000);
  const std::vector<float> second = Values<float>(1000);
  const int port = std::stoi(server_.address().substr(10));
  int cuts = 0;
  for (std::int64_t cut = 100; cut < 16000; cut += 331) {
    CuttingProxy proxy(port, cut);
    ClientOptions options = Options();
    options.address = proxy.address();
    options.chunk_bytes = 1024;
    options.max_chunks_in_flight = 3;
    options.initial_backoff = absl::Milliseconds(1);
    options.max_backoff = absl::Milliseconds(1);
    Client client(options);
    absl::StatusOr<Session> session = client.OpenSession(
        "cut-" + std::to_string(cut), LossScaler::Static(3).value());
    ASSERT_THAT(session, IsOk());
    std::vector<float> in_place = first;
    std::vector<float> result(second.size());
    Step step = session->BeginStep();
    const absl::StatusOr<UnscaleResult> found = step.Unscale(std::vector{
        InPlace("first", in_place), Into("second", second, result)});
    ASSERT_THAT(found, IsOk()) << cut;
    EXPECT_EQ(in_place, Divided(first, 3)) << cut;
    EXPECT_EQ(result, Divided(second, 3)) << cut;
    EXPECT_EQ(found->total.element_count, 3000);
    double sum = 0;
    for (const float value : in_place) sum += double{value} * value;
    for (const float value : result) sum += double{value} * value;
    EXPECT_NEAR(found->total.sum_of_squares, sum, sum * 1e-6);
    ASSERT_THAT(step.Update(), IsOk());
    if (proxy.cut()) ++cuts;
  }
  // The last cuts lie beyond the end of the traffic; most do not.
  EXPECT_GT(cuts, 30);
}

TEST_F(ClientService, TheNetworkAndTheLocalKernelGiveTheSameBits) {
  absl::StatusOr<Session> session =
      client_.OpenSession("run", LossScaler::Static(1000).value());
  ASSERT_THAT(session, IsOk());
  Step step = session->BeginStep();

  std::vector<Eigen::half> half = Values<Eigen::half>(3001);
  half[17] = Eigen::numext::bit_cast<Eigen::half>(std::uint16_t{0x7c01});
  const std::vector<double> wide = Values<double>(513);
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> matrix =
      Eigen::MatrixXf::Random(31, 17);
  matrix(3, 5) = 1e-40f;

  std::vector<float> half_remote(half.size()), half_local(half.size());
  std::vector<double> wide_remote(wide.size()), wide_local(wide.size());
  auto matrix_remote = matrix, matrix_local = matrix;
  const auto tensors = [&](std::vector<float>* half_out,
                           std::vector<double>* wide_out, auto* matrix_out) {
    return std::vector{
        Into("half", half, *half_out), Into("wide", wide, *wide_out),
        // Columns of a row-major matrix: a stride in both dimensions.
        InPlace("block", matrix_out->middleCols(3, 7))};
  };
  const absl::StatusOr<UnscaleResult> remote =
      step.Unscale(tensors(&half_remote, &wide_remote, &matrix_remote));
  const absl::StatusOr<UnscaleResult> local =
      step.UnscaleLocally(tensors(&half_local, &wide_local, &matrix_local));
  ASSERT_THAT(remote, IsOk());
  ASSERT_THAT(local, IsOk());
  EXPECT_EQ(std::memcmp(half_remote.data(), half_local.data(),
                        half_local.size() * sizeof(float)),
            0);
  EXPECT_EQ(wide_remote, wide_local);
  EXPECT_EQ(matrix_remote, matrix_local);
  EXPECT_EQ(matrix_remote(0, 0), matrix(0, 0));  // Outside the block.
  EXPECT_EQ(matrix_remote(0, 3), matrix(0, 3) / 1000.0f);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(remote->tensors[i].nan_count, local->tensors[i].nan_count);
    EXPECT_EQ(remote->tensors[i].first_bad_index,
              local->tensors[i].first_bad_index);
    EXPECT_EQ(remote->tensors[i].absolute_maximum,
              local->tensors[i].absolute_maximum);
  }
  EXPECT_EQ(remote->tensors[0].first_bad_index, 17);
}

TEST_F(ClientService, TensorsLargerThanAChunkAndEmptyOnesGoThrough) {
  absl::StatusOr<Session> session =
      client_.OpenSession("run", LossScaler::Static(2).value());
  ASSERT_THAT(session, IsOk());
  Step step = session->BeginStep();
  std::vector<float> large(3'000'000, 4.0f);
  std::vector<Eigen::half> small(1'500'000, Eigen::half(4.0f));
  std::vector<float> small_out(small.size());
  std::vector<float> none;
  const absl::StatusOr<UnscaleResult> found = step.Unscale(std::vector{
      InPlace("none", none), InPlace("l", large), Into("s", small, small_out)});
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(large, Each(2.0f));
  EXPECT_THAT(small_out, Each(2.0f));
  EXPECT_EQ(found->tensors[0].element_count, 0);
  EXPECT_TRUE(step.Update()->apply());
}

}  // namespace
}  // namespace lossscaler
