// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Unscale of a connection over real streams.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/internal/connection_impl.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/status.h"
#include "testing/fake_clock.h"
#include "testing/scripted_unscale_server.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::FakeClock;
using lossscaler::testing::Honest;
using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::ScriptedUnscaleServer;
using lossscaler::testing::Silent;
using lossscaler::testing::UnscaleScript;
using lossscaler::testing::UnscaleServerStream;
using ::testing::ElementsAre;

constexpr double kScale = 12.0;

const grpc::Status kLost(grpc::StatusCode::UNAVAILABLE, "lost");

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()),
                      wire::SerializeErrorDetails(status));
}

std::vector<float> Values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i) * 1.25F + 1;
  }
  return values;
}

std::vector<float> Divided(std::vector<float> values) {
  for (float& value : values) value /= static_cast<float>(kScale);
  return values;
}

class UnscaleCallTest : public ::testing::Test {
 protected:
  UnscaleCallTest() {
    options_.clock = clock_;
    options_.chunk_bytes = 400;
    options_.unavailable_budget = absl::Seconds(10);
  }

  absl::StatusOr<UnscaleAnswer> Unscale(
      ScriptedUnscaleServer* server, const std::vector<GradientTensor>& tensors,
      std::optional<std::int64_t> step = 7) {
    ConnectionImpl connection(MakeStub(server->Channel()), options_);
    return connection.Unscale({.session = {.name = "team/run", .uid = "uid-1"},
                               .step = step,
                               .tensors = tensors,
                               .on_progress = on_progress_});
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  ClientOptions options_;
  std::function<void(const UnscaleProgress&)> on_progress_;
  std::vector<float> a_ = Values(1'000);
};

TEST_F(UnscaleCallTest, DividesManyTensorsInOneStream) {
  std::vector<double> d = {24, 36};
  std::vector<float> none;
  a_[5] = std::numeric_limits<float>::infinity();
  ScriptedUnscaleServer server({Honest(kScale)});
  const auto answer = Unscale(
      &server, {InPlace("a", std::span(a_)), InPlace("", std::span(none)),
                InPlace("d", std::span(d))});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->scale, kScale);
  EXPECT_EQ(answer->step, 7);
  EXPECT_THAT(d, ElementsAre(2, 3));
  EXPECT_EQ(a_[999], (999 * 1.25F + 1) / 12.0F);
  ASSERT_EQ(answer->tensors.size(), 3);
  EXPECT_EQ(answer->tensors[0].first_bad_index, 5);
  EXPECT_EQ(answer->tensors[0].element_count, 1'000);
  EXPECT_EQ(answer->tensors[1].element_count, 0);
  EXPECT_EQ(answer->tensors[2].sum_of_squares, 13);

  ASSERT_EQ(server.opens().size(), 1);
  const v1::UnscaleOpen open = server.opens().front();
  EXPECT_EQ(open.session(), "team/run");
  EXPECT_EQ(open.session_uid(), "uid-1");
  EXPECT_EQ(open.step(), 7);
  EXPECT_EQ(open.max_chunk_bytes(), 400);
  EXPECT_EQ(open.mode(), v1::UNSCALE_MODE_RETURN_GRADIENTS);
  ASSERT_EQ(open.tensors_size(), 3);
  EXPECT_EQ(open.tensors(1).name(), "#1");
  EXPECT_EQ(open.tensors(2).type(), v1::ELEMENT_TYPE_FLOAT64);
  EXPECT_EQ(open.tensors(2).element_count(), 2);
}

TEST_F(UnscaleCallTest, ResumesForTheRestUnderANewStreamId) {
  std::vector<float> b = Values(3);
  ScriptedUnscaleServer server({Honest(kScale, 0, kLost),
                                Honest(kScale, 4, kLost),
                                Honest(kScale, 1, kLost), Honest(kScale)});
  const auto answer = Unscale(
      &server, {InPlace("a", std::span(a_)), InPlace("b", std::span(b))});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(a_, Divided(Values(1'000)));
  EXPECT_EQ(b, Divided(Values(3)));
  EXPECT_EQ(answer->tensors[0].element_count, 1'000);

  const auto opens = server.opens();
  ASSERT_EQ(opens.size(), 4);
  EXPECT_NE(opens[0].stream_id(), opens[1].stream_id());
  EXPECT_NE(opens[1].stream_id(), opens[2].stream_id());
  // 100 elements in each chunk.
  EXPECT_EQ(opens[1].tensors(0).ranges_size(), 0);
  EXPECT_EQ(opens[2].tensors(0).ranges(0).offset(), 400);
  EXPECT_EQ(opens[2].tensors(0).ranges(0).count(), 600);
  EXPECT_EQ(opens[3].tensors(0).ranges(0).offset(), 500);
  EXPECT_EQ(opens[3].tensors(0).element_count(), 1'000);
}

TEST_F(UnscaleCallTest, ResumesAfterWhatATransportDoes) {
  // A reset of the stream by the peer, and a cancelled call.
  ScriptedUnscaleServer server(
      {Honest(kScale, 2,
              grpc::Status(grpc::StatusCode::INTERNAL, "RST_STREAM")),
       [](grpc::ServerContext* context, const v1::UnscaleOpen& open,
          UnscaleServerStream* stream) {
         const grpc::Status status = Honest(kScale, 2)(context, open, stream);
         context->TryCancel();
         return status;
       },
       Honest(kScale)});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}), IsOk());
  EXPECT_EQ(a_, Divided(Values(1'000)));
  EXPECT_EQ(server.opens().size(), 3);
}

TEST_F(UnscaleCallTest, ResumesAStreamThatStands) {
  options_.stream_stall_timeout = absl::Milliseconds(20);
  // A busy machine may take an honest stream for one that stands.
  std::vector<UnscaleScript> scripts(1'000, Honest(kScale));
  scripts.front() = Silent();
  ScriptedUnscaleServer server(scripts);
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}), IsOk());
  EXPECT_EQ(a_, Divided(Values(1'000)));
  EXPECT_GE(server.opens().size(), 2);
}

// Some elements are divided: not the error of a call that touched none.
TEST_F(UnscaleCallTest, AServerThatRefusesTheRestHasLostTheGradients) {
  ScriptedUnscaleServer server(
      {Honest(kScale, 1, kLost), [](auto&&...) {
         return ToGrpc(MakeError(Reason::kTooManyTensors, "1 is too many"));
       }});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}),
              IsErrorSaying(Reason::kMalformedAnswer, "1 is too many"));
}

TEST_F(UnscaleCallTest, WaitsForAFreeStreamAsLongAsTheServerAsks) {
  ScriptedUnscaleServer server(
      {Honest(kScale, 0,
              ToGrpc(MakeRetryableError(Reason::kTooManyStreams, "64 in use",
                                        absl::Seconds(3)))),
       Honest(kScale)});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}), IsOk());
  EXPECT_THAT(clock_->sleeps(), ElementsAre(absl::Seconds(3)));
}

TEST_F(UnscaleCallTest, NamesTheStepOfTheFirstStreamWhenItResumes) {
  ScriptedUnscaleServer server({Honest(kScale, 1, kLost), Honest(kScale)});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}, std::nullopt),
              IsOk());
  const auto opens = server.opens();
  ASSERT_EQ(opens.size(), 2);
  EXPECT_FALSE(opens[0].has_step());
  EXPECT_EQ(opens[1].step(), 1);
}

TEST_F(UnscaleCallTest, EndsAtAPermanentError) {
  ScriptedUnscaleServer server(
      {Honest(kScale, 1, kLost),
       Honest(kScale, 1,
              ToGrpc(MakeError(Reason::kStepForgotten, "too old",
                               {{"oldest", "9"}})))});
  const auto answer = Unscale(&server, {InPlace("a", std::span(a_))});
  EXPECT_THAT(answer, IsErrorSaying(Reason::kStepForgotten, "2 attempts"));
  EXPECT_EQ(MetadataOf(answer.status()).at("oldest"), "9");
  EXPECT_EQ(server.opens().size(), 2);
}

TEST_F(UnscaleCallTest, EndsAtAMalformedAnswer) {
  ScriptedUnscaleServer server({[](grpc::ServerContext*, const v1::UnscaleOpen&,
                                   UnscaleServerStream* stream) {
    stream->Write(v1::UnscaleResponse());
    v1::UnscaleRequest request;
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  }});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}),
              IsError(Reason::kMalformedAnswer));
  EXPECT_EQ(server.opens().size(), 1);
}

TEST_F(UnscaleCallTest, EndsWhenTheScaleChangesOnTheWay) {
  ScriptedUnscaleServer server({Honest(kScale, 1, kLost), Honest(2 * kScale)});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}),
              IsError(Reason::kMalformedAnswer));
}

TEST_F(UnscaleCallTest, GivesUpWhenNothingIsAchievedWithinTheBudget) {
  std::vector<UnscaleScript> scripts(1'000, Honest(kScale, 0, kLost));
  ScriptedUnscaleServer server(scripts);
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}),
              IsErrorSaying(Reason::kUnavailableBudgetSpent, "Unscale"));
}

// A long call on a bad network ends, as long as each stream gets on.
TEST_F(UnscaleCallTest, ProgressStartsTheBudgetAnew) {
  const auto wait =
      ToGrpc(MakeRetryableError(Reason::kDraining, "going", absl::Seconds(6)));
  std::vector<UnscaleScript> scripts(9, Honest(kScale, 1, wait));
  scripts.push_back(Honest(kScale));
  ScriptedUnscaleServer server(scripts);
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}), IsOk());
  EXPECT_EQ(a_, Divided(Values(1'000)));
  EXPECT_EQ(server.opens().size(), 10);
}

TEST_F(UnscaleCallTest, ACallOfEmptyTensorsIsResumedToo) {
  std::vector<float> none;
  ScriptedUnscaleServer server(
      {[](auto&&...) { return kLost; }, Honest(kScale)});
  const auto answer = Unscale(&server, {InPlace("e", std::span(none))});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->scale, kScale);
  EXPECT_EQ(answer->tensors.size(), 1);
}

TEST_F(UnscaleCallTest, AsksForTheTypeThatIsStored) {
  std::vector<Eigen::half> h(3, Eigen::half(24));
  std::vector<float> wide(3);
  ScriptedUnscaleServer server(
      {Honest(kScale), Honest(kScale), Honest(kScale)});
  EXPECT_THAT(Unscale(&server, {Into("h", std::span(h), std::span(wide))}),
              IsOk());
  EXPECT_THAT(wide, ElementsAre(2, 2, 2));
  EXPECT_THAT(Unscale(&server, {InPlace("h", std::span(h))}), IsOk());
  EXPECT_EQ(h[0], Eigen::half(2));
  EXPECT_THAT(Unscale(&server, {CheckOnly("a", std::span(a_))}), IsOk());
  EXPECT_EQ(a_, Values(1'000));
  const auto opens = server.opens();
  EXPECT_EQ(opens[0].output_type(), v1::OUTPUT_TYPE_WIDE);
  EXPECT_EQ(opens[1].output_type(), v1::OUTPUT_TYPE_SAME);
  EXPECT_EQ(opens[2].mode(), v1::UNSCALE_MODE_CHECK_ONLY);
}

// Larger than the flow-control windows: writing everything before reading
// would stop for ever.
TEST_F(UnscaleCallTest, ReadsAndWritesAtOnce) {
  options_.chunk_bytes = 1 << 20;
  options_.max_chunks_in_flight = 64;
  std::vector<float> large(8 << 20, 24.0F);
  ScriptedUnscaleServer server({Honest(kScale)});
  EXPECT_THAT(Unscale(&server, {InPlace("l", std::span(large))}), IsOk());
  EXPECT_EQ(large, std::vector<float>(8 << 20, 2.0F));
}

// 1,000 floats and 2 doubles as given, whatever is stored.
TEST_F(UnscaleCallTest, ReportsProgressThatNeverFallsOverStreams) {
  std::vector<std::uint64_t> done;
  const std::thread::id caller = std::this_thread::get_id();
  on_progress_ = [&](const UnscaleProgress& progress) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(progress.bytes_total, 4'016);
    done.push_back(progress.bytes_done);
    clock_->Advance(absl::Seconds(1));
  };
  std::vector<double> d = {24, 36};
  ScriptedUnscaleServer server(
      {Honest(kScale, 4, kLost), Honest(kScale, 2, kLost), Honest(kScale)});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_)),
                                CheckOnly("d", std::span(d))}),
              IsError(Reason::kInvalidTensor));
  EXPECT_TRUE(done.empty());
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_)),
                                InPlace("d", std::span(d))}),
              IsOk());
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 4'016);
  EXPECT_EQ(std::count(done.begin(), done.end(), 4'016), 1);
}

TEST_F(UnscaleCallTest, NeverReportsTheEndOfACallThatFails) {
  std::vector<std::uint64_t> done;
  on_progress_ = [&](const UnscaleProgress& progress) {
    done.push_back(progress.bytes_done);
  };
  ScriptedUnscaleServer server(
      {Honest(kScale, 9, kLost),
       Honest(kScale, 0,
              ToGrpc(MakeError(Reason::kStepForgotten, "too old")))});
  EXPECT_THAT(Unscale(&server, {InPlace("a", std::span(a_))}),
              IsError(Reason::kStepForgotten));
  for (const std::uint64_t bytes : done) EXPECT_LT(bytes, 4'000);
}

}  // namespace
}  // namespace lossscaler::internal
