// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Every limit of a real lossscalerd, flooded: who exceeds it is told so, with
// the limit and what there is, and clients that train meanwhile notice nothing.

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "fault/hostile_peer.h"
#include "fault/steady_clients.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/call_status.h"
#include "testing/poll_until.h"
#include "testing/ready_server.h"
#include "testing/status_matchers.h"

namespace lossscaler::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Stub = v1::LossScalerService::Stub;
using Metadata = std::map<std::string, std::string>;

// As the server is told, or has them by design.
constexpr int kMaxSessions = 40;
constexpr int kMaxUnscaleStreams = 4;
constexpr std::int64_t kMaxBytes = 16 << 20;
constexpr int kMaxTensors = 8;
constexpr int kMaxWatchers = 1'024;
constexpr std::size_t kMaxUnopened = 4'096;
constexpr int kMaxLosses = 65'536;
constexpr int kMaxParts = 64;
// The largest chunk of float32: 4 MiB less 64 KiB.
constexpr std::int64_t kLargestChunk = (4 << 20) - (64 << 10);

constexpr std::chrono::seconds kFloodPatience(60);

std::unique_ptr<Stub> ConnectTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return v1::LossScalerService::NewStub(grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments));
}

// A call that is held open: a stream that has read its first answer, if there
// is one to read, or one that waits.
class Held {
 public:
  virtual ~Held() = default;
  // OK while it is open.
  virtual absl::Status ended() = 0;
};

// One that reads and never asks for more than `request`.
template <typename Base, typename Request, typename Response>
class HeldStream final : public Held, private Base {
 public:
  using Begin = std::function<void(grpc::ClientContext*, Base*)>;

  HeldStream(Request request, const Begin& begin)
      : request_(std::move(request)) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          2 * kFloodPatience);
    begin(&context_, this);
    if constexpr (requires { this->StartWrite(&request_); }) {
      this->StartWrite(&request_);
    }
    this->StartRead(&response_);
    this->StartCall();
  }
  ~HeldStream() override {
    context_.TryCancel();
    MutexLock lock(&mutex_);
    while (!done_) changed_.Wait(&mutex_);
  }

  // OK once something was read, or how the call ended before.
  absl::Status AwaitAnswer() {
    MutexLock lock(&mutex_);
    while (!answered_ && !done_) changed_.Wait(&mutex_);
    return answered_ ? absl::OkStatus() : status_;
  }
  absl::Status ended() override {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  void OnReadDone(bool ok) override {
    MutexLock lock(&mutex_);
    answered_ = answered_ || ok;
    changed_.SignalAll();
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mutex_);
    status_ = ToAbsl(status);
    done_ = true;
    changed_.SignalAll();
  }

  grpc::ClientContext context_;
  Request request_;
  Response response_;
  Mutex mutex_;
  CondVar changed_;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

using HeldUnscale =
    HeldStream<grpc::ClientBidiReactor<v1::UnscaleRequest, v1::UnscaleResponse>,
               v1::UnscaleRequest, v1::UnscaleResponse>;
using HeldWatch = HeldStream<grpc::ClientReadReactor<v1::WatchSessionResponse>,
                             v1::WatchSessionRequest, v1::WatchSessionResponse>;

class FloodTest : public ::testing::Test {
 protected:
  FloodTest() : stub_(ConnectTo(server_.address())) {
    v1::CreateSessionRequest solo;
    solo.set_session("solo");
    solo.mutable_scaler()->mutable_static_()->set_scale(2);
    EXPECT_THAT(Create(solo), IsOk());
    v1::CreateSessionRequest group = solo;
    group.set_session("group");
    group.set_kind(v1::SESSION_KIND_GROUP);
    group.mutable_group()->set_max_workers(3);
    EXPECT_THAT(Create(group), IsOk());
  }

  void TearDown() override {
    EXPECT_TRUE(clients_.Train(20));
    EXPECT_THAT(clients_.Stop(), IsEmpty());
    held_.clear();
    EXPECT_THAT(server_.Stop(), Optional(0)) << server_.Log();
  }

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                 const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kFloodPatience);
    return ToAbsl((stub_.get()->*method)(&context, request, response));
  }
  absl::Status Create(const v1::CreateSessionRequest& request) {
    v1::CreateSessionResponse response;
    return Call(&Stub::CreateSession, request, &response);
  }
  absl::Status Join(int rank) {
    v1::JoinSessionRequest request;
    request.set_session("group");
    request.set_worker(absl::StrCat("rank-", rank));
    request.set_request_id(request.worker());
    v1::JoinSessionResponse response;
    return Call(&Stub::JoinSession, request, &response);
  }

  static v1::UnscaleRequest Open(int id, std::int64_t chunk, int tensors = 1) {
    v1::UnscaleRequest request;
    v1::UnscaleOpen& open = *request.mutable_open();
    open.set_session("solo");
    open.set_stream_id(absl::StrCat("s", id));
    open.set_max_chunk_bytes(chunk);
    for (int i = 0; i < tensors; ++i) {
      v1::TensorSpec* const tensor = open.add_tensors();
      tensor->set_type(v1::ELEMENT_TYPE_FLOAT32);
      tensor->set_element_count(1 << 20);
    }
    return request;
  }
  // Opens the stream and holds it; why it was not let in.
  absl::Status Hold(const v1::UnscaleRequest& open) {
    auto stream = std::make_unique<HeldUnscale>(
        open, [this](grpc::ClientContext* context, auto* reactor) {
          stub_->async()->Unscale(context, reactor);
        });
    absl::Status status = stream->AwaitAnswer();
    held_.push_back(std::move(stream));
    return status;
  }

  // Floods once more and again while the clients train.
  void ExpectSteadyRefusal(const std::function<absl::Status()>& flood,
                           Reason reason, const Metadata& metadata) {
    for (int i = 0; i < 50; ++i) {
      const absl::Status status = flood();
      ASSERT_THAT(status, IsError(reason));
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_EQ(MetadataOf(status), metadata);
    }
    EXPECT_TRUE(clients_.Train(20));
  }

  ReadyServer server_{
      Transport::kTcp,
      {absl::StrCat("--max-sessions=", kMaxSessions),
       absl::StrCat("--max-unscale-streams=", kMaxUnscaleStreams),
       absl::StrCat("--max-bytes-in-flight=", kMaxBytes, "B"),
       absl::StrCat("--max-tensors-per-stream=", kMaxTensors)}};
  SteadyClients clients_{server_.address()};
  const std::unique_ptr<Stub> stub_;
  std::vector<std::unique_ptr<Held>> held_;
};

TEST_F(FloodTest, OfSessions) {
  int next = 0;
  const auto create = [&] {
    v1::CreateSessionRequest request;
    request.set_session(absl::StrCat("flood/", ++next));
    request.mutable_scaler()->mutable_none();
    return Create(request);
  };
  // Two are the clients', two are there already.
  for (int i = 0; i < kMaxSessions - 4; ++i) ASSERT_THAT(create(), IsOk());
  ExpectSteadyRefusal(create, Reason::kTooManySessions,
                      {{"sessions", "40"}, {"limit", "40"}});
}

TEST_F(FloodTest, OfWorkers) {
  int next = 0;
  const auto join = [&] { return Join(++next); };
  for (int i = 0; i < 3; ++i) ASSERT_THAT(join(), IsOk());
  ExpectSteadyRefusal(join, Reason::kTooManyWorkers,
                      {{"workers", "3"}, {"limit", "3"}});
}

TEST_F(FloodTest, OfUnscaleStreams) {
  int next = 0;
  const auto open = [&] { return Hold(Open(++next, 4096)); };
  for (int i = 0; i < kMaxUnscaleStreams; ++i) ASSERT_THAT(open(), IsOk());
  ExpectSteadyRefusal(open, Reason::kTooManyStreams,
                      {{"streams", "4"}, {"limit", "4"}});
}

TEST_F(FloodTest, OfBytes) {
  ASSERT_THAT(Hold(Open(0, kLargestChunk)), IsOk());
  int next = 0;
  for (int i = 0; i < 50; ++i) {
    const absl::Status status = Hold(Open(++next, kLargestChunk));
    ASSERT_THAT(status, IsError(Reason::kTooManyBytes));
    Metadata metadata = MetadataOf(status);
    EXPECT_THAT(metadata,
                UnorderedElementsAre(Pair("limit", absl::StrCat(kMaxBytes)),
                                     Key("bytes"), Key("in_flight")));
    // The first has room for a chunk and two answers, and for its description
    // (less than a page); another would need a chunk and one answer.
    EXPECT_GE(std::stoll(metadata["in_flight"]), 3 * kLargestChunk);
    EXPECT_LT(std::stoll(metadata["in_flight"]), 3 * kLargestChunk + 4096);
    EXPECT_GE(std::stoll(metadata["bytes"]), 2 * kLargestChunk);
    EXPECT_LT(std::stoll(metadata["bytes"]), 2 * kLargestChunk + 4096);
  }
}

TEST_F(FloodTest, OfTensors) {
  int next = 0;
  ExpectSteadyRefusal([&] { return Hold(Open(++next, 4096, kMaxTensors + 1)); },
                      Reason::kTooManyTensors,
                      {{"tensors", "9"}, {"limit", "8"}});
}

TEST_F(FloodTest, OfLosses) {
  v1::ScaleLossRequest request;
  request.set_session("solo");
  request.mutable_losses()->Resize(kMaxLosses + 1, 1);
  v1::ScaleLossResponse response;
  ExpectSteadyRefusal(
      [&] { return Call(&Stub::ScaleLoss, request, &response); },
      Reason::kTooManyLosses, {{"losses", "65537"}, {"limit", "65536"}});
}

TEST_F(FloodTest, OfParts) {
  ASSERT_THAT(Join(0), IsOk());
  v1::UpdateRequest request;
  request.set_session("group");
  request.set_worker("rank-0");
  request.set_incarnation(1);
  request.set_step(1);
  request.set_verdict(v1::VERDICT_FINITE);
  request.set_scale_used(2);
  request.mutable_base();
  for (int i = 0; i <= kMaxParts; ++i) {
    v1::PartVote* const part = request.add_parts();
    part->set_name(absl::StrCat("part-", i));
    part->set_verdict(v1::VERDICT_FINITE);
  }
  v1::UpdateResponse response;
  ExpectSteadyRefusal([&] { return Call(&Stub::Update, request, &response); },
                      Reason::kTooManyParts,
                      {{"parts", "65"}, {"limit", "64"}});
}

TEST_F(FloodTest, OfWatchers) {
  v1::WatchSessionRequest request;
  request.set_session("solo");
  const auto watch = [&] {
    return std::make_unique<HeldWatch>(
        request, [&](grpc::ClientContext* context, auto* reactor) {
          stub_->async()->WatchSession(context, &request, reactor);
        });
  };
  for (int i = 0; i < kMaxWatchers; ++i) held_.push_back(watch());
  // That all are there shows in the first that is refused.
  ASSERT_TRUE(PollUntil(kFloodPatience, [&] {
    auto probe = watch();
    if (!PollUntil(std::chrono::seconds(1),
                   [&] { return !probe->ended().ok(); })) {
      return false;
    }
    return ReasonOf(probe->ended()) == Reason::kTooManyStreams;
  }));
  ExpectSteadyRefusal([&] { return watch()->AwaitAnswer(); },
                      Reason::kTooManyStreams,
                      {{"open", "1024"}, {"limit", "1024"}});
  for (const auto& watcher : held_) EXPECT_THAT(watcher->ended(), IsOk());
}

TEST_F(FloodTest, OfCallsThatAreRefusedOnManyConnections) {
  std::vector<std::unique_ptr<Stub>> stubs;
  for (int i = 0; i < 200; ++i) {
    stubs.push_back(ConnectTo(server_.address()));
    grpc::ClientContext context;
    v1::GetSessionRequest request;
    request.set_session("nobody");
    v1::GetSessionResponse response;
    EXPECT_THAT(ToAbsl(stubs.back()->GetSession(&context, request, &response)),
                IsError(Reason::kSessionNotFound));
  }
  EXPECT_TRUE(clients_.Train(20));
}

// A Participate stream that says nothing.
class SilentStream final
    : public Held,
      private grpc::ClientBidiReactor<v1::ParticipateRequest,
                                      v1::ParticipateResponse> {
 public:
  explicit SilentStream(Stub* stub) {
    stub->async()->Participate(&context_, this);
    StartRead(&response_);
    StartCall();
  }
  ~SilentStream() override {
    context_.TryCancel();
    MutexLock lock(&mutex_);
    while (!done_) changed_.Wait(&mutex_);
  }

  absl::Status AwaitEnd() {
    MutexLock lock(&mutex_);
    while (!done_) changed_.Wait(&mutex_);
    return status_;
  }
  absl::Status ended() override {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mutex_);
    status_ = ToAbsl(status);
    done_ = true;
    changed_.SignalAll();
  }

  grpc::ClientContext context_;
  v1::ParticipateResponse response_;
  Mutex mutex_;
  CondVar changed_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

// They would hold the places of calls, and with them everybody's.
TEST_F(FloodTest, OfStreamsThatAreNotOpened) {
  bool refused = false;
  ASSERT_TRUE(PollUntil(kFloodPatience, [&] {
    for (int i = 0; i < 500; ++i) {
      held_.push_back(std::make_unique<SilentStream>(stub_.get()));
    }
    for (const auto& stream : held_) refused |= !stream->ended().ok();
    return refused;
  }));
  EXPECT_GE(held_.size(), kMaxUnopened);
  ExpectSteadyRefusal([&] { return SilentStream(stub_.get()).AwaitEnd(); },
                      Reason::kTooManyStreams,
                      {{"streams", "4096"}, {"limit", "4096"}});
}

// A server that may have 256 files open.
class ConnectionsFloodTest : public ::testing::Test {
 protected:
  class FewFiles {
   public:
    FewFiles() {
      getrlimit(RLIMIT_NOFILE, &before_);
      rlimit few = before_;
      few.rlim_cur = 256;
      setrlimit(RLIMIT_NOFILE, &few);
    }
    ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

   private:
    rlimit before_{};
  };

  // Inherited when it is started.
  ConnectionsFloodTest() {
    const FewFiles limit;
    server_.emplace(Transport::kTcp);
  }

  std::optional<ReadyServer> server_;
};

TEST_F(ConnectionsFloodTest, IsCutOffAndLeavesEverybodyElseTheirs) {
  SteadyClients clients(server_->address());
  {
    std::vector<HostilePeer> peers;
    for (int i = 0; i < 400; ++i) peers.emplace_back(server_->address());
    // At most half of the files may be kept for others.
    int ended = 0;
    ASSERT_TRUE(PollUntil(kFloodPatience, [&] {
      ended = 0;
      for (HostilePeer& peer : peers) ended += peer.Listen() ? 0 : 1;
      return ended >= 400 - 256;
    })) << ended;
    EXPECT_LT(ended, 400 - 128 + 50);
    EXPECT_TRUE(clients.Train(20));
  }
  EXPECT_THAT(clients.Stop(), IsEmpty());
  // Who comes when they have gone is let in.
  grpc::ClientContext context;
  v1::GetServerInfoRequest request;
  v1::GetServerInfoResponse response;
  EXPECT_THAT(ToAbsl(ConnectTo(server_->address())
                         ->GetServerInfo(&context, request, &response)),
              IsOk());
  EXPECT_THAT(server_->Stop(), Optional(0)) << server_->Log();
}

}  // namespace
}  // namespace lossscaler::testing
