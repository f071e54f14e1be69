// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/coordination/raw_group.h"
#include "bench/coordination/voter.h"
#include "grpcpp/create_channel.h"

namespace lossscaler::bench {
namespace {

class StreamVoter : public Voter {
 public:
  explicit StreamVoter(std::shared_ptr<grpc::Channel> channel)
      : stub_(v1::LossScalerService::NewStub(std::move(channel))) {}
  ~StreamVoter() override { context_.TryCancel(); }

  absl::Status Start(const VoterOptions& options) {
    if (absl::Status status =
            OpenGroup(stub_.get(), options.session, options.workers);
        !status.ok()) {
      return status;
    }
    absl::StatusOr<v1::ParticipateOpen> joined =
        Join(stub_.get(), options.session, absl::StrCat(options.rank));
    if (!joined.ok()) return joined.status();
    worker_ = *joined;
    stream_ = stub_->Participate(&context_);
    v1::ParticipateRequest request;
    *request.mutable_open() = worker_;
    if (!stream_->Write(request)) return End();
    return AwaitOpen();
  }

  absl::Status Vote() override {
    v1::ParticipateRequest request;
    *request.mutable_vote() = FiniteVote(worker_, current_);
    if (!stream_->Write(request)) return End();
    v1::ParticipateResponse response;
    do {
      if (!stream_->Read(&response)) return End();
    } while (!response.has_vote());
    if (response.vote().decision().outcome() != v1::OUTCOME_APPLY) {
      return absl::InternalError("a step of finite votes was not applied");
    }
    current_ = response.vote().current();
    return absl::OkStatus();
  }

 private:
  // All members are in.
  absl::Status AwaitOpen() {
    v1::ParticipateResponse response;
    while (stream_->Read(&response)) {
      const v1::Membership& membership =
          response.has_opened() ? response.opened() : response.changed();
      if (membership.phase() == v1::GROUP_PHASE_OPEN) {
        current_ = membership.current();
        return absl::OkStatus();
      }
    }
    return End();
  }

  absl::Status End() {
    const absl::Status status = ToAbsl(stream_->Finish());
    return status.ok() ? absl::UnavailableError("the stream has ended")
                       : status;
  }

  const std::unique_ptr<v1::LossScalerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::ParticipateRequest, v1::ParticipateResponse>>
      stream_;
  v1::ParticipateOpen worker_;
  v1::Current current_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Voter>> MakeStreamVoter(
    const VoterOptions& options) {
  auto voter = std::make_unique<StreamVoter>(
      grpc::CreateChannel(options.address, grpc::InsecureChannelCredentials()));
  if (absl::Status status = voter->Start(options); !status.ok()) return status;
  return voter;
}

}  // namespace lossscaler::bench
