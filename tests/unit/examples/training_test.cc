// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/training.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/internal/local_unscale.h"
#include "lossscaler/client/internal/unscale_plan.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/solo.h"
#include "testing/status_matchers.h"

namespace lossscaler::digits {
namespace {

using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;

// One session of the service without network or store: the rules of core.
class LocalConnection : public NiceMock<MockConnection> {
 public:
  LocalConnection() {
    ON_CALL(*this, CreateSession)
        .WillByDefault([this](const std::string& name, const LossScaler& scaler,
                              IfExists) -> absl::StatusOr<SessionInfo> {
          state_ =
              NewSession(name, "uid", scaler, "request", absl::UnixEpoch());
          SessionInfo info;
          info.name = name;
          info.uid = "uid";
          info.config = info.scaler = scaler;
          info.current = state_.current();
          return info;
        });
    ON_CALL(*this, ScaleLoss)
        .WillByDefault([this](const ScaleLossCall& call)
                           -> absl::StatusOr<ScaleLossAnswer> {
          ScaleLossAnswer answer;
          for (float loss : call.losses) {
            answer.scaled_losses.push_back(state_.scaler.ScaleLoss(loss));
          }
          answer.scale = state_.scaler.scale();
          return answer;
        });
    ON_CALL(*this, Unscale)
        .WillByDefault(
            [this](const UnscaleCall& call) -> absl::StatusOr<UnscaleAnswer> {
              const auto plan = internal::PlanUnscale(call.tensors);
              if (!plan.ok()) return plan.status();
              UnscaleAnswer answer;
              answer.scale = state_.scaler.scale();
              answer.tensors =
                  internal::UnscaleInMemory(*plan, {.scale = answer.scale});
              return answer;
            });
    ON_CALL(*this, Update)
        .WillByDefault(
            [this](const UpdateCall& call) -> absl::StatusOr<UpdateAnswer> {
              Vote vote = call.vote;
              vote.resolved = vote.verdict;
              auto decided = Decide(state_, vote, absl::UnixEpoch());
              if (!decided.ok()) return decided.status();
              state_ = std::move(decided->state);
              return UpdateAnswer{decided->decision, state_.current()};
            });
  }

  const SessionState& state() const { return state_; }

 private:
  SessionState state_;
};

const Samples& RealDigits() {
  static const Samples* const samples =
      new Samples(LoadSamples(LOSSSCALER_DIGITS_DATA).value());
  return *samples;
}

void Ignore(const Epoch&) {}

absl::StatusOr<RunResult> TrainWith(
    const std::shared_ptr<LocalConnection>& connection,
    const LossScaler& scaler, const TrainingOptions& options) {
  Client client(connection);
  absl::StatusOr<Session> session = client.CreateSession("digits", scaler);
  if (!session.ok()) return session.status();
  return Train(RealDigits(), options, &*session, Ignore);
}

TEST(TrainTest, LearnsInFloat32AndReportsEveryEpoch) {
  std::vector<Epoch> epochs;
  const auto result =
      Train(RealDigits(), {.epochs = 6}, nullptr,
            [&](const Epoch& epoch) { epochs.push_back(epoch); });
  ASSERT_THAT(result, IsOk());
  EXPECT_GT(result->accuracy, 0.9);
  EXPECT_FALSE(result->float16.has_value());
  // 1438 training samples make 22 whole batches.
  EXPECT_EQ(result->steps, 6 * 22);
  ASSERT_EQ(epochs.size(), 6u);
  EXPECT_EQ(epochs.back().number, 6);
  EXPECT_EQ(epochs.back().of, 6);
  EXPECT_EQ(epochs.back().accuracy, result->accuracy);
  EXPECT_LT(epochs.back().loss, epochs.front().loss);
}

TEST(TrainTest, WithAScaleFloat16LearnsAsFloat32Does) {
  const auto float32 = Train(RealDigits(), {.epochs = 6}, nullptr, Ignore);
  const auto float16 =
      TrainWith(std::make_shared<LocalConnection>(),
                *LossScaler::Dynamic(65536, 2, 2000), {.epochs = 6});
  ASSERT_THAT(float32, IsOk());
  ASSERT_THAT(float16, IsOk());
  EXPECT_NEAR(float16->loss, float32->loss, 0.05 * float32->loss);
  EXPECT_EQ(float16->float16->skipped, 0);
  EXPECT_EQ(float16->float16->final_scale, 65536.0);
}

TEST(TrainTest, WithoutAScaleFloat16LosesGradientsAndEndsNearChance) {
  const auto result = TrainWith(std::make_shared<LocalConnection>(),
                                LossScaler::None(), {.epochs = 20});
  ASSERT_THAT(result, IsOk());
  EXPECT_LT(result->accuracy, 0.5);
  EXPECT_GT(result->float16->underflow.share(), 0.1);
  EXPECT_EQ(result->float16->skipped, 0);
}

TEST(TrainTest, DropsTheGradientsOfASkippedStep) {
  // From 2^60 no gradient fits float16 until the scale has come down.
  const auto connection = std::make_shared<LocalConnection>();
  const auto result = TrainWith(
      connection, *LossScaler::Dynamic(0x1p60, 2, 2000), {.epochs = 3});
  ASSERT_THAT(result, IsOk());
  EXPECT_GT(result->float16->skipped, 10);
  EXPECT_EQ(result->float16->skipped, connection->state().skipped);
  EXPECT_EQ(result->float16->final_scale, connection->state().scaler.scale());
  // An applied infinity would have left nothing but NaN.
  EXPECT_LT(result->loss, 2.3);
}

TEST(TrainTest, FollowsFromTheSeed) {
  const auto train = [](std::uint64_t seed) {
    return TrainWith(std::make_shared<LocalConnection>(),
                     *LossScaler::Dynamic(65536, 2, 20),
                     {.epochs = 2, .seed = seed});
  };
  const auto one = train(1);
  const auto same = train(1);
  const auto other = train(2);
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(same, IsOk());
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(one->loss, same->loss);
  EXPECT_EQ(one->float16->underflow.lost, same->float16->underflow.lost);
  EXPECT_NE(one->loss, other->loss);
}

TEST(TrainTest, EndsTheRunWhenAnUpdateIsNeitherApplyNorSkip) {
  const auto connection = std::make_shared<LocalConnection>();
  EXPECT_CALL(*connection, Update(_))
      .WillOnce(Return(MakeError(Reason::kUnavailableBudgetSpent,
                                 "the server has been away too long")));
  const auto result = TrainWith(connection, LossScaler::None(), {.epochs = 1});
  EXPECT_THAT(result, IsErrorSaying(Reason::kUnavailableBudgetSpent,
                                    "the server has been away too long"));
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("Update of step 1"));
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("neither applied nor skipped"));
}

TEST(TrainTest, RefusesFewerSamplesThanABatch) {
  EXPECT_EQ(Train(RealDigits().Select({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), {},
                  nullptr, Ignore)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lossscaler::digits
