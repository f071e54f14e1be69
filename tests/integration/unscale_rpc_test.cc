// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The Unscale stream over gRPC: what it answers, what it refuses, and how it
// ends. After every ending the server has no stream and no buffer left.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/in_process_server.h"
#include "testing/status_matchers.h"
#include "testing/unscale_dialog.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::BytesOf;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::InProcessServer;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::ToAbsl;
using ::lossscaler::testing::UnscaleDialog;
using ::lossscaler::testing::ValuesOf;
using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

server::Limits SmallLimits() {
  server::Limits limits;
  limits.max_unscale_streams = 2;
  limits.max_tensors_per_stream = 3;
  return limits;
}

class UnscaleRpc : public ::testing::Test {
 protected:
  explicit UnscaleRpc(const server::Limits& limits = SmallLimits())
      : server_(limits), stub_(server_.NewStub()) {
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.mutable_scaler()->mutable_dynamic()->set_scale(4);
    v1::CreateSessionResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->CreateSession(&context, request, &response).ok());
  }

  // Every stream of this test has left, so that as many fit as at first.
  ~UnscaleRpc() override {
    EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  }

  absl::Status Vote(const std::vector<std::string>& streams,
                    v1::UpdateResponse* response) {
    grpc::ClientContext context;
    v1::UpdateRequest request;
    request.set_session("run");
    request.set_step(1);
    for (const std::string& id : streams) request.add_stream_ids(id);
    return ToAbsl(stub_->Update(&context, request, response));
  }

  InProcessServer server_;
  std::unique_ptr<v1::LossScalerService::Stub> stub_;
};

TEST_F(UnscaleRpc, DividesByTheScaleAndReportsEachChunk) {
  UnscaleDialog call(stub_.get());
  call.Open(UnscaleDialog::OpenFor("s", 4));
  const v1::UnscaleResponse opened = call.Read();
  EXPECT_EQ(opened.opened().scale(), 4);
  EXPECT_EQ(opened.opened().step(), 1);
  EXPECT_EQ(opened.opened().epoch(), 1);
  EXPECT_EQ(opened.opened().max_chunk_bytes(), (4 << 20) - (64 << 10));

  call.Chunk(0, 0, BytesOf<float>({8, -12}));
  v1::UnscaleResponse answer = call.Read();
  EXPECT_EQ(answer.chunk().offset(), 0);
  EXPECT_THAT(ValuesOf<float>(answer.chunk().data()), ElementsAre(2, -3));
  EXPECT_FALSE(answer.chunk().verdict().overflow());
  EXPECT_EQ(answer.chunk().verdict().sum_of_squares(), 13);
  EXPECT_EQ(answer.chunk().verdict().absolute_maximum(), 3);

  call.Chunk(0, 2, BytesOf<float>({kNaN, -kInf}));
  answer = call.Read();
  EXPECT_TRUE(answer.chunk().verdict().overflow());
  EXPECT_EQ(answer.chunk().verdict().nan_count(), 1);
  EXPECT_EQ(answer.chunk().verdict().negative_infinity_count(), 1);
  EXPECT_EQ(answer.chunk().verdict().first_bad_index(), 2);
  EXPECT_EQ(answer.chunk().verdict().sum_of_squares(), 0);

  call.HalfClose();
  answer = call.Read();
  ASSERT_TRUE(answer.has_summary());
  EXPECT_EQ(answer.summary().element_count(), 4);
  EXPECT_TRUE(answer.summary().verdict().overflow());
  EXPECT_EQ(answer.summary().verdict().sum_of_squares(), 13);
  ASSERT_EQ(answer.summary().bad_tensors_size(), 1);
  EXPECT_EQ(answer.summary().bad_tensors(0).verdict().first_bad_index(), 2);
  EXPECT_THAT(call.Finish(), IsOk());

  v1::UpdateResponse decision;
  EXPECT_THAT(Vote({"s"}, &decision), IsOk());
  EXPECT_EQ(decision.decision().outcome(), v1::OUTCOME_SKIP_OVERFLOW);
  EXPECT_EQ(decision.current().scale(), 2);
}

TEST_F(UnscaleRpc, SixteenBitGradientsComeBackAsFloat32UnlessAskedOtherwise) {
  for (const bool same : {false, true}) {
    UnscaleDialog call(stub_.get());
    v1::UnscaleOpen open = UnscaleDialog::OpenFor(same ? "same" : "wide", 2);
    open.mutable_tensors(0)->set_type(v1::ELEMENT_TYPE_FLOAT16);
    if (same) open.set_output_type(v1::OUTPUT_TYPE_SAME);
    call.Open(open);
    // Twice as wide an answer leaves half as much for the question.
    const std::int64_t largest = (4 << 20) - (64 << 10);
    EXPECT_EQ(call.Read().opened().max_chunk_bytes(),
              same ? largest : largest / 2);
    // 2^-24 is the smallest float16: a quarter of it exists in float32 only.
    const Eigen::half tiny =
        Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(1));
    call.Chunk(0, 0, BytesOf<Eigen::half>({Eigen::half(6.0f), tiny}));
    const v1::UnscaledChunk chunk = call.Read().chunk();
    if (same) {
      EXPECT_THAT(ValuesOf<Eigen::half>(chunk.data()),
                  ElementsAre(Eigen::half(1.5f), Eigen::half(0.0f)));
      EXPECT_EQ(chunk.verdict().flushed_to_zero(), 1);
    } else {
      EXPECT_THAT(ValuesOf<float>(chunk.data()),
                  ElementsAre(1.5f, std::ldexp(1.0f, -26)));
      EXPECT_EQ(chunk.verdict().flushed_to_zero(), 0);
    }
    call.HalfClose();
    EXPECT_THAT(call.Finish(), IsOk());
  }
}

TEST_F(UnscaleRpc, CheckOnlyAnswersWithoutData) {
  UnscaleDialog call(stub_.get());
  v1::UnscaleOpen open = UnscaleDialog::OpenFor("s", 1);
  open.set_mode(v1::UNSCALE_MODE_CHECK_ONLY);
  open.set_skip_statistics(true);
  call.Open(open);
  call.Read();
  call.Chunk(0, 0, BytesOf<float>({kInf}));
  const v1::UnscaledChunk chunk = call.Read().chunk();
  EXPECT_EQ(chunk.data(), "");
  EXPECT_EQ(chunk.verdict().positive_infinity_count(), 1);
  EXPECT_FALSE(chunk.verdict().has_sum_of_squares());
  call.HalfClose();
  EXPECT_THAT(call.Finish(), IsOk());
}

TEST_F(UnscaleRpc, StreamsThatSplitATensorAreCountedTogether) {
  for (const int half : {0, 1}) {
    UnscaleDialog call(stub_.get());
    v1::UnscaleOpen open = UnscaleDialog::OpenFor(half == 0 ? "a" : "b", 4);
    v1::ElementRange* range = open.mutable_tensors(0)->add_ranges();
    range->set_offset(2 * half);
    range->set_count(2);
    call.Open(open);
    call.Read();
    call.Chunk(0, 2 * half, BytesOf<float>({1, 1}));
    call.Read();
    call.HalfClose();
    EXPECT_THAT(call.Finish(), IsOk());
  }
  v1::UpdateResponse response;
  EXPECT_THAT(Vote({"a"}, &response), IsError(Reason::kVerdictLost));
  EXPECT_THAT(Vote({"a", "gone"}, &response), IsError(Reason::kVerdictLost));
  EXPECT_THAT(Vote({}, &response), IsError(Reason::kNoGradientsChecked));
  EXPECT_THAT(Vote({"a", "b"}, &response), IsOk());
  EXPECT_EQ(response.decision().outcome(), v1::OUTCOME_APPLY);
}

TEST_F(UnscaleRpc, AnOlderStepUsesItsOwnScale) {
  grpc::ClientContext context;
  v1::UpdateRequest request;
  request.set_session("run");
  request.set_step(1);
  request.set_verdict(v1::VERDICT_OVERFLOW);
  v1::UpdateResponse response;
  ASSERT_TRUE(stub_->Update(&context, request, &response).ok());
  ASSERT_EQ(response.current().scale(), 2);

  UnscaleDialog call(stub_.get());
  v1::UnscaleOpen open = UnscaleDialog::OpenFor("late", 1);
  open.set_step(1);
  call.Open(open);
  EXPECT_EQ(call.Read().opened().scale(), 4);
  call.Chunk(0, 0, BytesOf<float>({8}));
  EXPECT_THAT(ValuesOf<float>(call.Read().chunk().data()), ElementsAre(2));
  call.HalfClose();
  EXPECT_THAT(call.Finish(), IsOk());
}

// What a client sends that it should not, and what it is told.
struct BadStream {
  std::string name;
  std::function<void(UnscaleDialog*)> send;
  Reason reason;
};

v1::UnscaleOpen Edited(const std::function<void(v1::UnscaleOpen*)>& edit) {
  v1::UnscaleOpen open = UnscaleDialog::OpenFor("s", 4);
  edit(&open);
  return open;
}

std::vector<BadStream> BadStreams() {
  std::vector<BadStream> bad;
  const auto refused_open = [&bad](std::string name,
                                   std::function<void(v1::UnscaleOpen*)> edit,
                                   Reason reason) {
    bad.push_back({name,
                   [edit](UnscaleDialog* call) { call->Open(Edited(edit)); },
                   reason});
  };
  const auto after_open = [&bad](std::string name,
                                 std::function<void(UnscaleDialog*)> send,
                                 Reason reason) {
    bad.push_back({name,
                   [send](UnscaleDialog* call) {
                     call->Open(UnscaleDialog::OpenFor("s", 4));
                     call->Read();
                     send(call);
                   },
                   reason});
  };
  bad.push_back({"ChunkBeforeOpen",
                 [](UnscaleDialog* call) { call->Chunk(0, 0, "1234"); },
                 Reason::kChunkBeforeOpen});
  bad.push_back({"HalfCloseBeforeOpen",
                 [](UnscaleDialog* call) { call->HalfClose(); },
                 Reason::kChunkBeforeOpen});
  bad.push_back({"EmptyMessage", [](UnscaleDialog* call) { call->Empty(); },
                 Reason::kEmptyMessage});
  refused_open(
      "UnknownSession",
      [](v1::UnscaleOpen* open) { open->set_session("other"); },
      Reason::kSessionNotFound);
  refused_open(
      "ReplacedSession",
      [](v1::UnscaleOpen* open) { open->set_session_uid("00"); },
      Reason::kSessionReplaced);
  refused_open(
      "StepAhead", [](v1::UnscaleOpen* open) { open->set_step(2); },
      Reason::kStepAhead);
  refused_open(
      "StepZero", [](v1::UnscaleOpen* open) { open->set_step(0); },
      Reason::kInvalidField);
  refused_open(
      "NoStreamId", [](v1::UnscaleOpen* open) { open->clear_stream_id(); },
      Reason::kInvalidField);
  refused_open(
      "NoTensor", [](v1::UnscaleOpen* open) { open->clear_tensors(); },
      Reason::kNoTensors);
  refused_open(
      "TooManyTensors",
      [](v1::UnscaleOpen* open) {
        for (int i = 0; i < 3; ++i) *open->add_tensors() = open->tensors(0);
      },
      Reason::kTooManyTensors);
  refused_open(
      "UnknownType",
      [](v1::UnscaleOpen* open) {
        open->mutable_tensors(0)->set_type(static_cast<v1::ElementType>(99));
      },
      Reason::kInvalidTensor);
  refused_open(
      "NoType",
      [](v1::UnscaleOpen* open) { open->mutable_tensors(0)->clear_type(); },
      Reason::kInvalidTensor);
  refused_open(
      "SameNameTwice",
      [](v1::UnscaleOpen* open) { *open->add_tensors() = open->tensors(0); },
      Reason::kInvalidTensor);
  refused_open(
      "NegativeCount",
      [](v1::UnscaleOpen* open) {
        open->mutable_tensors(0)->set_element_count(-1);
      },
      Reason::kInvalidTensor);
  refused_open(
      "RangeBeyondTheEnd",
      [](v1::UnscaleOpen* open) {
        v1::ElementRange* range = open->mutable_tensors(0)->add_ranges();
        range->set_offset(std::numeric_limits<std::int64_t>::max());
        range->set_count(std::numeric_limits<std::int64_t>::max());
      },
      Reason::kInvalidTensor);
  refused_open(
      "UnknownMode",
      [](v1::UnscaleOpen* open) {
        open->set_mode(static_cast<v1::UnscaleMode>(7));
      },
      Reason::kInvalidField);
  refused_open(
      "NegativeChunkLimit",
      [](v1::UnscaleOpen* open) { open->set_max_chunk_bytes(-1); },
      Reason::kInvalidField);
  after_open(
      "SecondOpen",
      [](UnscaleDialog* call) { call->Open(UnscaleDialog::OpenFor("t", 4)); },
      Reason::kOpenedTwice);
  after_open(
      "UnknownTensor", [](UnscaleDialog* call) { call->Chunk(1, 0, "1234"); },
      Reason::kUnknownTensor);
  after_open(
      "NegativeTensor", [](UnscaleDialog* call) { call->Chunk(-1, 0, "1234"); },
      Reason::kUnknownTensor);
  after_open(
      "Gap", [](UnscaleDialog* call) { call->Chunk(0, 1, "1234"); },
      Reason::kChunkOutOfOrder);
  after_open(
      "Overlap",
      [](UnscaleDialog* call) {
        call->Chunk(0, 0, std::string(8, '\0'));
        call->Read();
        call->Chunk(0, 1, "1234");
      },
      Reason::kChunkOutOfOrder);
  after_open(
      "Overrun",
      [](UnscaleDialog* call) { call->Chunk(0, 0, std::string(20, '\0')); },
      Reason::kChunkOverrun);
  after_open(
      "HalfAFloat", [](UnscaleDialog* call) { call->Chunk(0, 0, "123456"); },
      Reason::kPartialElement);
  after_open(
      "NoData", [](UnscaleDialog* call) { call->Chunk(0, 0, ""); },
      Reason::kPartialElement);
  after_open(
      "HalfCloseBeforeTheEnd", [](UnscaleDialog* call) { call->HalfClose(); },
      Reason::kStreamIncomplete);
  bad.push_back({"ChunkOverItsLimit",
                 [](UnscaleDialog* call) {
                   call->Open(Edited([](v1::UnscaleOpen* open) {
                     open->set_max_chunk_bytes(4);
                   }));
                   call->Read();
                   call->Chunk(0, 0, std::string(8, '\0'));
                 },
                 Reason::kChunkTooLarge});
  return bad;
}

class BadUnscale : public UnscaleRpc,
                   public ::testing::WithParamInterface<BadStream> {};

INSTANTIATE_TEST_SUITE_P(Streams, BadUnscale, ::testing::ValuesIn(BadStreams()),
                         [](const auto& test) { return test.param.name; });

TEST_P(BadUnscale, IsRefusedAndLeavesNothingBehind) {
  // More often than streams are allowed at one time: none is leaked.
  for (int i = 0; i < 3; ++i) {
    UnscaleDialog call(stub_.get());
    GetParam().send(&call);
    const absl::Status status = call.Finish();
    // A stream that was opened keeps its id, also when it breaks.
    if (i > 0 && status.code() == absl::StatusCode::kAlreadyExists) {
      EXPECT_THAT(status, IsError(Reason::kStreamIdUsed));
    } else {
      EXPECT_THAT(status, IsError(GetParam().reason));
    }
    EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  }
  v1::UpdateResponse response;
  EXPECT_FALSE(Vote({"s"}, &response).ok());
}

TEST_F(UnscaleRpc, MessagesOverFourMebibytesAreRefusedByTheTransport) {
  UnscaleDialog call(stub_.get());
  call.Open(UnscaleDialog::OpenFor("s", 2 << 20));
  call.Read();
  call.Chunk(0, 0, std::string((4 << 20) + 4, '\0'));
  EXPECT_THAT(call.Finish(), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_F(UnscaleRpc, StreamsOverTheLimitAreAskedToWaitAndOthersGoOn) {
  UnscaleDialog first(stub_.get());
  first.Open(UnscaleDialog::OpenFor("1", 1));
  first.Read();
  UnscaleDialog second(stub_.get());
  second.Open(UnscaleDialog::OpenFor("2", 1));
  second.Read();
  {
    UnscaleDialog third(stub_.get());
    third.Open(UnscaleDialog::OpenFor("3", 1));
    const absl::Status status = third.Finish();
    EXPECT_THAT(status, IsError(Reason::kTooManyStreams));
    EXPECT_TRUE(RetryDelayOf(status).has_value());
    EXPECT_EQ(MetadataOf(status)["limit"], "2");
  }
  first.Chunk(0, 0, BytesOf<float>({4}));
  EXPECT_THAT(ValuesOf<float>(first.Read().chunk().data()), ElementsAre(1));
  first.HalfClose();
  EXPECT_THAT(first.Finish(), IsOk());
  second.Cancel();
  EXPECT_THAT(second.Finish(), HasCode(absl::StatusCode::kCancelled));
  EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  UnscaleDialog third(stub_.get());
  third.Open(UnscaleDialog::OpenFor("3", 1));
  EXPECT_TRUE(third.Read().has_opened());
  third.Cancel();
  EXPECT_THAT(third.Finish(), HasCode(absl::StatusCode::kCancelled));
}

TEST_F(UnscaleRpc, AStreamThatBreaksNeverBecomesAVerdict) {
  {
    UnscaleDialog call(stub_.get());
    call.Open(UnscaleDialog::OpenFor("s", 2));
    call.Read();
    call.Chunk(0, 0, BytesOf<float>({1}));
    call.Read();
    call.Cancel();
    EXPECT_THAT(call.Finish(), HasCode(absl::StatusCode::kCancelled));
  }
  v1::UpdateResponse response;
  EXPECT_THAT(Vote({"s"}, &response), IsError(Reason::kVerdictLost));
}

// It lacks nothing but its end: every element was sent, and every answer read.
TEST_F(UnscaleRpc, AStreamThatBreaksWithoutHalfCloseNeverBecomesAVerdict) {
  // A broken call looks at first like one that was half-closed; many of them,
  // because who comes first is chance.
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back("s" + std::to_string(i));
    UnscaleDialog call(stub_.get());
    call.Open(UnscaleDialog::OpenFor(ids.back(), 1));
    call.Read();
    call.Chunk(0, 0, BytesOf<float>({4}));
    ASSERT_TRUE(call.Read().has_chunk());
    call.Cancel();
    EXPECT_THAT(call.Finish(), HasCode(absl::StatusCode::kCancelled));
    ASSERT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  }
  v1::UpdateResponse response;
  for (const std::string& id : ids) {
    EXPECT_THAT(Vote({id}, &response), IsError(Reason::kVerdictLost));
  }
}

TEST_F(UnscaleRpc, DeadlineAtEachStateLeavesNothingBehind) {
  for (const int state : {0, 1, 2}) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(200));
    auto stream = stub_->Unscale(&context);
    v1::UnscaleResponse response;
    v1::UnscaleRequest request;
    if (state > 0) {
      *request.mutable_open() =
          UnscaleDialog::OpenFor("s" + std::to_string(state), 2);
      stream->Write(request);
      stream->Read(&response);
    }
    if (state > 1) {
      request.mutable_chunk()->set_data(BytesOf<float>({1}));
      stream->Write(request);
      stream->Read(&response);
    }
    while (stream->Read(&response)) {
    }
    EXPECT_THAT(ToAbsl(stream->Finish()),
                HasCode(absl::StatusCode::kDeadlineExceeded));
    EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
  }
}

TEST_F(UnscaleRpc, ServerShutdownEndsOpenStreams) {
  UnscaleDialog call(stub_.get());
  call.Open(UnscaleDialog::OpenFor("s", 2));
  call.Read();
  server_.Shutdown();
  EXPECT_THAT(call.Finish(),
              ::testing::AnyOf(HasCode(absl::StatusCode::kUnavailable),
                               HasCode(absl::StatusCode::kCancelled)));
}

TEST_F(UnscaleRpc, DrainingServerRefusesNewStreamsAndFinishesOldOnes) {
  UnscaleDialog old(stub_.get());
  old.Open(UnscaleDialog::OpenFor("s", 1));
  old.Read();
  server_.gate().Close();
  UnscaleDialog late(stub_.get());
  late.Open(UnscaleDialog::OpenFor("t", 1));
  EXPECT_THAT(late.Finish(), IsError(Reason::kDraining));
  old.Chunk(0, 0, BytesOf<float>({4}));
  EXPECT_THAT(ValuesOf<float>(old.Read().chunk().data()), ElementsAre(1));
  old.HalfClose();
  EXPECT_THAT(old.Finish(), IsOk());
}

class ImpatientUnscale : public UnscaleRpc {
 protected:
  static server::Limits Impatient(absl::Duration idle) {
    server::Limits limits = SmallLimits();
    limits.unscale_idle = idle;
    return limits;
  }
  explicit ImpatientUnscale(absl::Duration idle = absl::Milliseconds(50))
      : UnscaleRpc(Impatient(idle)) {}
};

TEST_F(ImpatientUnscale, AnIdleStreamIsEndedWithAReason) {
  UnscaleDialog call(stub_.get());
  call.Open(UnscaleDialog::OpenFor("s", 2));
  call.Read();
  EXPECT_THAT(call.Finish(), IsError(Reason::kStreamIdle));
}

TEST_F(ImpatientUnscale, AStreamThatIsNeverOpenedIsEndedToo) {
  UnscaleDialog call(stub_.get());
  EXPECT_THAT(call.Finish(), IsError(Reason::kStreamIdle));
}

// Longer than a chunk takes to arrive, also on a busy machine: a client that is
// still sending is not the one that is cut.
class LessImpatientUnscale : public ImpatientUnscale {
 protected:
  LessImpatientUnscale() : ImpatientUnscale(absl::Seconds(1)) {}
};

TEST_F(LessImpatientUnscale, AClientThatNeverReadsIsCut) {
  UnscaleDialog call(stub_.get());
  const std::int64_t count = std::int64_t{64} << 20;
  call.Open(UnscaleDialog::OpenFor("s", count));
  const std::string chunk(4 * 900'000, '\0');
  // Answers fill the connection's window, then the server stops reading and
  // the writes stop; the server has to end it.
  for (std::int64_t offset = 0; offset + 900'000 <= count; offset += 900'000) {
    call.Chunk(0, offset, chunk);
  }
  EXPECT_THAT(call.Finish(), HasCode(absl::StatusCode::kCancelled));
  EXPECT_TRUE(server_.gate().WaitUntilEmpty(absl::Seconds(10)));
}

}  // namespace
}  // namespace lossscaler
