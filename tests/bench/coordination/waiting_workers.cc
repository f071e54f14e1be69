// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// waiting_workers: holds many streams of workers, each on a connection of its
// own. Started by the driver, see bench/process/worker_process.h; asked for a
// count, it opens as many, and answers nothing when they are held.
//
// usage: waiting_workers workers|streams ADDRESS

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/coordination/raw_group.h"
#include "bench/process/worker_process.h"
#include "grpcpp/create_channel.h"
#include "lossscaler/process/set_up.h"

namespace lossscaler::bench {
namespace {

constexpr int kWorkersPerSession = 10;
// See Growth() in waiting_memory.cc.
constexpr int kFirst = 10;

using Stream =
    grpc::ClientReaderWriter<v1::ParticipateRequest, v1::ParticipateResponse>;

std::unique_ptr<v1::LossScalerService::Stub> NewConnection(
    const std::string& address) {
  grpc::ChannelArguments arguments;
  // Otherwise channels to one address share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::LossScalerService::NewStub(grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments));
}

// A stream on a connection of its own.
class Client {
 public:
  explicit Client(const std::string& address) : stub_(NewConnection(address)) {}
  ~Client() { context_.TryCancel(); }

  absl::Status Join(const std::string& session, const std::string& worker) {
    absl::StatusOr<v1::ParticipateOpen> joined =
        bench::Join(stub_.get(), session, worker);
    if (joined.ok()) worker_ = *joined;
    return joined.status();
  }

  // Opens a stream, and that is all.
  absl::Status Hold() {
    stream_ = stub_->Participate(&context_);
    stream_->WaitForInitialMetadata();
    return absl::OkStatus();
  }

  // Opens the stream of the worker that has joined, and votes.
  absl::Status Vote() {
    stream_ = stub_->Participate(&context_);
    v1::ParticipateRequest request;
    *request.mutable_open() = worker_;
    stream_->Write(request);
    v1::ParticipateResponse response;
    if (!stream_->Read(&response)) return ToAbsl(stream_->Finish());
    *request.mutable_vote() = FiniteVote(worker_, response.opened().current());
    stream_->Write(request);
    request.mutable_heartbeat()->set_sequence(0);
    stream_->Write(request);
    return absl::OkStatus();
  }

  // Returns when the vote waits: messages are taken in order, and the one after
  // it is answered.
  absl::Status AwaitVote() {
    v1::ParticipateResponse response;
    if (!stream_->Read(&response)) return ToAbsl(stream_->Finish());
    if (response.has_heartbeat()) return absl::OkStatus();
    return absl::InternalError("the vote does not wait");
  }

 private:
  const std::unique_ptr<v1::LossScalerService::Stub> stub_;
  grpc::ClientContext context_;
  v1::ParticipateOpen worker_;
  std::unique_ptr<Stream> stream_;
};

using Clients = std::vector<std::unique_ptr<Client>>;

absl::Status HoldStreams(const std::string& address, int count,
                         Clients* clients) {
  for (int i = 0; i < count; ++i) {
    clients->push_back(std::make_unique<Client>(address));
    if (absl::Status status = clients->back()->Hold(); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

// Ten of the eleven members vote, and wait for the one that never does.
absl::Status HoldSession(const std::string& address, Clients* clients) {
  const std::unique_ptr<v1::LossScalerService::Stub> silent =
      NewConnection(address);
  const std::string session = absl::StrCat("bench/", clients->size());
  if (absl::Status status =
          OpenGroup(silent.get(), session, kWorkersPerSession + 1);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = Join(silent.get(), session, "silent").status();
      !status.ok()) {
    return status;
  }
  const std::size_t first = clients->size();
  for (int i = 0; i < kWorkersPerSession; ++i) {
    clients->push_back(std::make_unique<Client>(address));
    if (absl::Status status = clients->back()->Join(session, absl::StrCat(i));
        !status.ok()) {
      return status;
    }
  }
  for (std::size_t i = first; i < clients->size(); ++i) {
    if (absl::Status status = (*clients)[i]->Vote(); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Hold(bool workers, const std::string& address, int count,
                  Clients* clients) {
  if (!workers) return HoldStreams(address, count, clients);
  const std::size_t first = clients->size();
  for (int held = 0; held < count; held += kWorkersPerSession) {
    if (absl::Status status = HoldSession(address, clients); !status.ok()) {
      return status;
    }
  }
  for (std::size_t i = first; i < clients->size(); ++i) {
    if (absl::Status status = (*clients)[i]->AwaitVote(); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Run(bool workers, const std::string& address) {
  Clients clients;
  if (absl::Status status = Hold(workers, address, kFirst, &clients);
      !status.ok()) {
    return status;
  }
  return ServeRounds(
      [&](std::int64_t count) -> absl::StatusOr<std::vector<std::int64_t>> {
        if (absl::Status status =
                Hold(workers, address, static_cast<int>(count), &clients);
            !status.ok()) {
          return status;
        }
        return std::vector<std::int64_t>();
      });
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using namespace lossscaler::bench;
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what != "workers" && what != "streams") {
    std::fputs("usage: waiting_workers workers|streams ADDRESS\n", stderr);
    return 2;
  }
  DieWithDriver();
  lossscaler::SetUpProcess();
  const absl::Status status = Run(what == "workers", argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "waiting_workers: %s\n", status.ToString().c_str());
  return 1;
}
