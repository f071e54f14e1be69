// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// An Unscale stream that its client cancels, at every state of it, again and
// again, against a real lossscalerd that has room for little more than one
// stream: it keeps no stream, no memory and no verdict of any.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/call_status.h"
#include "testing/poll_until.h"
#include "testing/ready_server.h"
#include "testing/status_matchers.h"
#include "wire_compat/plain_unscale_client.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::PlainAnswers;
using ::lossscaler::testing::PlainStream;
using ::lossscaler::testing::PollUntil;
using ::lossscaler::testing::ReadyServer;
using ::lossscaler::testing::RunPlainStream;
using ::lossscaler::testing::ToAbsl;
using ::lossscaler::testing::Transport;
using ::testing::AnyOf;
using ::testing::Optional;

// What the client has done when it gives up.
enum class State {
  kCalled,
  kOpenSent,
  kOpenedRead,
  kWriting,
  kReading,
  kHalfClosed,
  kSummaryRead,
};

constexpr const char* kStateNames[] = {"Called",     "OpenSent", "OpenedRead",
                                       "Writing",    "Reading",  "HalfClosed",
                                       "SummaryRead"};

constexpr int kRounds = 25;
constexpr int kChunks = 6;
constexpr std::int64_t kChunkBytes = 1 << 20;
constexpr std::int64_t kChunkElements = kChunkBytes / 4;

// The smallest budget there is, 8 MiB, holds one stream of such chunks (3 MiB
// at least, 6 at most), and not the leavings of others besides.
class UnscaleCancellationTest
    : public ::testing::TestWithParam<std::tuple<Transport, State>> {
 protected:
  UnscaleCancellationTest()
      : server_(std::get<Transport>(GetParam()),
                {"--max-unscale-streams=2", "--max-bytes-in-flight=8MiB"}),
        stub_(v1::LossScalerService::NewStub(grpc::CreateChannel(
            server_.address(), grpc::InsecureChannelCredentials()))) {
    work_.open.set_session("run");
    work_.open.set_max_chunk_bytes(kChunkBytes);
    v1::TensorSpec* const tensor = work_.open.add_tensors();
    tensor->set_type(v1::ELEMENT_TYPE_FLOAT32);
    tensor->set_element_count(kChunks * kChunkElements);
    for (int i = 0; i < kChunks; ++i) {
      v1::UnscaleChunk& chunk = work_.chunks.emplace_back();
      chunk.set_offset(i * kChunkElements);
      chunk.mutable_data()->assign(kChunkBytes, '\1');
    }
    grpc::ClientContext context;
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.mutable_scaler()->mutable_static_()->set_scale(3);
    v1::CreateSessionResponse response;
    EXPECT_THAT(ToAbsl(stub_->CreateSession(&context, request, &response)),
                IsOk());
  }

  // One stream up to `state`, and how it ended: sooner, if the server had no
  // room for it yet.
  absl::Status CancelAt(State state, const std::string& id) {
    grpc::ClientContext context;
    const auto call = stub_->Unscale(&context);
    v1::UnscaleResponse response;
    std::atomic<int> written = 0;
    std::atomic<bool> all_written = false;
    std::thread writer;
    const auto write_all = [&] {
      v1::UnscaleRequest request;
      for (const v1::UnscaleChunk& chunk : work_.chunks) {
        *request.mutable_chunk() = chunk;
        if (!call->Write(request)) break;
        ++written;
      }
      all_written = true;
      if (state >= State::kHalfClosed) call->WritesDone();
    };
    const auto read = [&](int count) {
      for (int i = 0; i < count; ++i) {
        if (!call->Read(&response)) return;
      }
    };
    if (state >= State::kOpenSent) {
      v1::UnscaleRequest request;
      *request.mutable_open() = work_.open;
      request.mutable_open()->set_stream_id(id);
      call->Write(request);
    }
    if (state >= State::kOpenedRead && !call->Read(&response)) {
      return ToAbsl(call->Finish());
    }
    if (state >= State::kWriting) writer = std::thread(write_all);
    // The next chunks are on their way, and nobody reads.
    if (state == State::kWriting) {
      while (written == 0 && !all_written) std::this_thread::yield();
    }
    if (state == State::kReading) read(kChunks / 2);
    if (state == State::kHalfClosed) read(kChunks);
    if (state == State::kSummaryRead) read(kChunks + 1);
    context.TryCancel();
    if (writer.joinable()) writer.join();
    while (call->Read(&response)) {
    }
    return ToAbsl(call->Finish());
  }

  absl::Status Vote(const std::string& stream, v1::UpdateResponse* response) {
    grpc::ClientContext context;
    v1::UpdateRequest request;
    request.set_session("run");
    request.set_step(1);
    request.add_stream_ids(stream);
    return ToAbsl(stub_->Update(&context, request, response));
  }

  ReadyServer server_;
  std::unique_ptr<v1::LossScalerService::Stub> stub_;
  PlainStream work_;
};

TEST_P(UnscaleCancellationTest, LeavesNoStreamNoMemoryAndNoVerdict) {
  const State state = std::get<State>(GetParam());
  int streams = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string id;
    absl::Status status;
    EXPECT_TRUE(PollUntil(std::chrono::seconds(30), [&] {
      id = absl::StrCat("s", ++streams);
      status = CancelAt(state, id);
      return status.code() != absl::StatusCode::kResourceExhausted;
    })) << status;
    if (state >= State::kHalfClosed) {
      // All was sent: there may be a verdict, and the call may have ended
      // before it could be cancelled.
      EXPECT_THAT(status.code(),
                  AnyOf(absl::StatusCode::kOk, absl::StatusCode::kCancelled));
      continue;
    }
    EXPECT_THAT(status, HasCode(absl::StatusCode::kCancelled));
    v1::UpdateResponse response;
    EXPECT_THAT(Vote(id, &response), IsError(Reason::kVerdictLost));
  }

  work_.open.set_stream_id("whole");
  PlainAnswers answers;
  EXPECT_TRUE(PollUntil(std::chrono::seconds(30), [&] {
    answers = RunPlainStream(stub_.get(), work_);
    return answers.status.error_code() != grpc::RESOURCE_EXHAUSTED;
  }));
  EXPECT_THAT(ToAbsl(answers.status), IsOk());
  EXPECT_EQ(answers.summary.element_count(), kChunks * kChunkElements);
  v1::UpdateResponse response;
  EXPECT_THAT(Vote("whole", &response), IsOk());
  EXPECT_EQ(response.decision().outcome(), v1::OUTCOME_APPLY);
  EXPECT_THAT(server_.Stop(), Optional(0)) << server_.Log();
}

INSTANTIATE_TEST_SUITE_P(
    At, UnscaleCancellationTest,
    ::testing::Combine(::testing::Values(Transport::kTcp, Transport::kUnix),
                       ::testing::Values(State::kCalled, State::kOpenSent,
                                         State::kOpenedRead, State::kWriting,
                                         State::kReading, State::kHalfClosed,
                                         State::kSummaryRead)),
    [](const auto& test) {
      return absl::StrCat(
          kStateNames[static_cast<int>(std::get<State>(test.param))],
          std::get<Transport>(test.param) == Transport::kTcp ? "Tcp" : "Unix");
    });

}  // namespace
}  // namespace lossscaler
