// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a real lossscalerd takes of the machine while every stream it admits is
// a slow one: 64 clients that send as much as flow control lets them and read
// no answer.

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/client_callback.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/call_status.h"
#include "testing/poll_until.h"
#include "testing/ready_server.h"
#include "testing/status_matchers.h"
#include "wire_compat/plain_unscale_client.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::PlainAnswers;
using ::lossscaler::testing::PlainStream;
using ::lossscaler::testing::PollUntil;
using ::lossscaler::testing::ReadyServer;
using ::lossscaler::testing::RunPlainStream;
using ::lossscaler::testing::ToAbsl;
using ::lossscaler::testing::Transport;
using ::testing::Optional;

using Stub = v1::LossScalerService::Stub;

constexpr int kStreams = 64;  // max_unscale_streams.
constexpr std::int64_t kSlowChunkBytes = 1 << 20;
constexpr std::int64_t kMiB = 1 << 20;
// Of a stream that reads what it asked for.
constexpr int kHonestChunks = 64;

// The bound of the design. gRPC counts all that it has received, whether
// streams have read it or not, and ends calls beyond its quota in
// server/app.cc: max_bytes_in_flight, 256 MiB, and as much again for its own
// buffers. Not in it are the answers, at most two of 1 MiB for each of 64
// streams: 128 MiB. 64 MiB are for what the heaps leave unused (glibc's grow 16
// MiB at a time, and each thread may have one).
constexpr std::int64_t kMostOverIdle = (256 + 256 + 128 + 64) * kMiB;

// A figure of /proc/PID/status, in bytes.
std::int64_t MemoryOf(pid_t pid, const std::string& figure) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::int64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == figure + ":") status >> kib;
  }
  return kib * 1024;
}

// A stream of session "run" with one float32 tensor.
v1::UnscaleOpen Open(const std::string& id, std::int64_t element_count) {
  v1::UnscaleOpen open;
  open.set_session("run");
  open.set_stream_id(id);
  open.set_max_chunk_bytes(kSlowChunkBytes);
  v1::TensorSpec* const tensor = open.add_tensors();
  tensor->set_type(v1::ELEMENT_TYPE_FLOAT32);
  tensor->set_element_count(element_count);
  return open;
}

// A stub with a connection of its own: a client of its own to the server.
std::unique_ptr<Stub> StubOf(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return v1::LossScalerService::NewStub(grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments));
}

// A stream that writes chunks without end and reads nothing but `opened`.
class SlowStream
    : public grpc::ClientBidiReactor<v1::UnscaleRequest, v1::UnscaleResponse> {
 public:
  SlowStream(const std::string& address, const std::string& id)
      : stub_(StubOf(address)) {
    *request_.mutable_open() = Open(id, std::int64_t{1} << 40);
    stub_->async()->Unscale(&context_, this);
    StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }
  ~SlowStream() override {
    context_.TryCancel();
    MutexLock lock(&mutex_);
    while (!done_) changed_.Wait(&mutex_);
  }

  // OK, or why the server has not let it in.
  absl::Status WaitUntilOpened() {
    MutexLock lock(&mutex_);
    while (!opened_ && !done_) changed_.Wait(&mutex_);
    return opened_ ? absl::OkStatus() : ToAbsl(status_);
  }

  // OK while it is open.
  absl::Status ended() {
    MutexLock lock(&mutex_);
    return done_ ? ToAbsl(status_) : absl::OkStatus();
  }

  // Chunks that gRPC has taken, as it does when they fit the server's window.
  std::int64_t written() {
    MutexLock lock(&mutex_);
    return written_;
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return;
    v1::UnscaleChunk& chunk = *request_.mutable_chunk();
    if (chunk.data().empty()) {
      chunk.mutable_data()->assign(kSlowChunkBytes, '\1');
    } else {
      chunk.set_offset(chunk.offset() + kSlowChunkBytes / 4);
      MutexLock lock(&mutex_);
      ++written_;
    }
    StartWrite(&request_);
  }
  void OnReadDone(bool ok) override {
    MutexLock lock(&mutex_);
    opened_ = ok;
    changed_.SignalAll();
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mutex_);
    status_ = status;
    done_ = true;
    changed_.SignalAll();
  }

  const std::unique_ptr<Stub> stub_;
  grpc::ClientContext context_;
  v1::UnscaleRequest request_;
  v1::UnscaleResponse response_;
  Mutex mutex_;
  CondVar changed_;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

class UnscaleMemoryTest : public ::testing::TestWithParam<Transport> {
 protected:
  UnscaleMemoryTest() {
    grpc::ClientContext context;
    v1::CreateSessionRequest request;
    request.set_session("run");
    request.mutable_scaler()->mutable_static_()->set_scale(3);
    v1::CreateSessionResponse response;
    EXPECT_THAT(ToAbsl(StubOf(server_.address())
                           ->CreateSession(&context, request, &response)),
                IsOk());
  }

  // One more slow stream, as soon as those that have ended make room.
  void AddSlowStream() {
    absl::Status status;
    PollUntil(std::chrono::seconds(30), [&] {
      auto stream = std::make_unique<SlowStream>(server_.address(), NextId());
      status = stream->WaitUntilOpened();
      if (status.ok()) slow_.push_back(std::move(stream));
      return status.code() != absl::StatusCode::kResourceExhausted;
    });
    ASSERT_THAT(status, IsOk()) << slow_.size() << " streams are open";
  }

  std::string NextId() { return absl::StrCat("s", ++streams_); }

  ReadyServer server_{GetParam()};
  std::vector<std::unique_ptr<SlowStream>> slow_;
  int streams_ = 0;
};

TEST_P(UnscaleMemoryTest, SlowStreamsStayWithinTheBoundAndHoldUpNobody) {
  const std::int64_t idle = MemoryOf(server_.pid(), "VmRSS");
  // Twice: nothing of the first set is kept from the second.
  for (int round = 0; round < 2; ++round) {
    while (slow_.size() < kStreams - 1) {
      ASSERT_NO_FATAL_FAILURE(AddSlowStream());
    }
    PlainStream honest;
    honest.open = Open(NextId(), kHonestChunks * kSlowChunkBytes / 4);
    for (int i = 0; i < kHonestChunks; ++i) {
      v1::UnscaleChunk& chunk = honest.chunks.emplace_back();
      chunk.set_offset(i * kSlowChunkBytes / 4);
      chunk.mutable_data()->assign(kSlowChunkBytes, '\1');
    }
    const PlainAnswers answers =
        RunPlainStream(StubOf(server_.address()).get(), honest);
    EXPECT_THAT(ToAbsl(answers.status), IsOk());
    EXPECT_EQ(answers.summary.element_count(),
              kHonestChunks * kSlowChunkBytes / 4);

    ASSERT_NO_FATAL_FAILURE(AddSlowStream());
    SlowStream refused(server_.address(), NextId());
    const absl::Status status = refused.WaitUntilOpened();
    EXPECT_THAT(status, IsError(Reason::kTooManyStreams));
    EXPECT_GT(RetryDelayOf(status), absl::ZeroDuration());

    for (const auto& stream : slow_) {
      EXPECT_TRUE(PollUntil(std::chrono::seconds(30),
                            [&] { return stream->written() > 0; }));
      EXPECT_THAT(stream->ended(), IsOk());
    }
    slow_.clear();
  }
  const std::int64_t most = MemoryOf(server_.pid(), "VmHWM") - idle;
  RecordProperty("MiB_over_idle", absl::StrCat(most / kMiB));
#ifndef LOSSSCALER_IS_SANITIZED
  EXPECT_LE(most, kMostOverIdle);
#endif
  // Each has at least a chunk there, or the answer to it.
  EXPECT_GE(most, kStreams * kSlowChunkBytes);
  EXPECT_THAT(server_.Stop(), Optional(0)) << server_.Log();
}

INSTANTIATE_TEST_SUITE_P(Over, UnscaleMemoryTest,
                         ::testing::Values(Transport::kTcp, Transport::kUnix),
                         [](const auto& test) {
                           return test.param == Transport::kTcp ? "Tcp"
                                                                : "Unix";
                         });

}  // namespace
}  // namespace lossscaler
