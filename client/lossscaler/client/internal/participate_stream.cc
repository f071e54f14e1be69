// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/participate_stream.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "grpcpp/client_context.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/malformed_answer.h"
#include "lossscaler/client/internal/outgoing_queue.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "lossscaler/wire/status.h"

namespace lossscaler::internal {
namespace {

// gRPC's side of a stream. It holds itself until gRPC is done with it.
class Reactor : public Stub::ParticipateReactor,
                public std::enable_shared_from_this<Reactor> {
 public:
  explicit Reactor(std::shared_ptr<WorkerStreamEvents> events)
      : events_(std::move(events)) {}

  void Start(Stub* stub, const ClientOptions& options,
             v1::ParticipateOpen open) {
    if (absl::Status status = CheckCredentials(options); !status.ok()) {
      outgoing_.End();
      std::exchange(events_, nullptr)->OnClosed(status);
      return;
    }
    AddToken(options, &context_);
    self_ = shared_from_this();
    stub->Participate(&context_, this);
    // Messages are written from any thread: the hold lasts until the last read
    // has said that the stream is over.
    AddHold();
    v1::ParticipateRequest request;
    *request.mutable_open() = std::move(open);
    outgoing_.Push(std::move(request));
    StartRead(&response_);
    StartCall();
  }

  void Send(v1::ParticipateRequest request) {
    outgoing_.Push(std::move(request));
  }

  void Cancel() { context_.TryCancel(); }

 private:
  void OnWriteDone(bool ok) override {
    if (ok) outgoing_.WriteDone();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      outgoing_.End();
      RemoveHold();
      return;
    }
    if (wrong_.ok()) wrong_ = Deliver();
    if (!wrong_.ok()) context_.TryCancel();
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Reactor> self = std::move(self_);
    std::exchange(events_, nullptr)
        ->OnClosed(wrong_.ok() ? FromGrpc(status) : wrong_);
  }

  // An error: the message cannot be used.
  absl::Status Deliver() {
    switch (response_.message_case()) {
      case v1::ParticipateResponse::kOpened:
      case v1::ParticipateResponse::kChanged: {
        const bool opened = response_.has_opened();
        const absl::StatusOr<Membership> membership = wire::MembershipFromProto(
            opened ? response_.opened() : response_.changed());
        if (!membership.ok()) break;
        if (opened) {
          events_->OnOpened(*membership);
        } else {
          events_->OnChanged(*membership);
        }
        return absl::OkStatus();
      }
      case v1::ParticipateResponse::kHeartbeat: {
        const v1::HeartbeatAnswer& answer = response_.heartbeat();
        const absl::StatusOr<Membership> membership =
            wire::MembershipFromProto(answer.membership());
        if (!membership.ok()) break;
        events_->OnHeartbeat(answer.sequence(), *membership,
                             wire::StatusFromProto(answer.error()));
        return absl::OkStatus();
      }
      case v1::ParticipateResponse::kVote:
        return DeliverVote(response_.vote());
      case v1::ParticipateResponse::MESSAGE_NOT_SET:
        // News of a newer server. An answer that fails to come is found out by
        // its silence.
        return absl::OkStatus();
    }
    return MalformedAnswer("Participate",
                           "a membership whose state or phase is not known");
  }

  absl::Status DeliverVote(const v1::VoteAnswer& vote) {
    std::optional<Current> current;
    if (vote.has_current()) current = wire::CurrentFromProto(vote.current());
    absl::StatusOr<Decision> answer =
        absl::UnknownError("the vote's answer is empty");
    if (vote.has_decision()) {
      answer = wire::DecisionFromProto(vote.decision());
      if (!answer.ok()) return MalformedAnswer("Participate", answer.status());
    } else if (vote.has_error()) {
      const absl::Status error = wire::StatusFromProto(vote.error());
      if (!error.ok()) answer = error;
    }
    events_->OnVote(vote.sequence(), std::move(answer), current);
    return absl::OkStatus();
  }

  std::shared_ptr<Reactor> self_;
  std::shared_ptr<WorkerStreamEvents> events_;
  grpc::ClientContext context_;
  v1::ParticipateResponse response_;
  absl::Status wrong_;
  OutgoingQueue<v1::ParticipateRequest> outgoing_{
      [this](const v1::ParticipateRequest& request) { StartWrite(&request); }};
};

class Stream : public WorkerStream {
 public:
  explicit Stream(std::shared_ptr<Reactor> reactor)
      : reactor_(std::move(reactor)) {}
  ~Stream() override { reactor_->Cancel(); }

  void SendHeartbeat(std::int64_t sequence,
                     const std::optional<Checkpoint>& checkpoint) override {
    v1::ParticipateRequest request;
    v1::Heartbeat* heartbeat = request.mutable_heartbeat();
    heartbeat->set_sequence(sequence);
    if (checkpoint) {
      wire::ToProto(*checkpoint, heartbeat->mutable_checkpoint());
    }
    reactor_->Send(std::move(request));
  }

  void SendVote(std::int64_t sequence, std::int64_t step,
                const Vote& vote) override {
    v1::ParticipateRequest request;
    v1::StreamVote* message = request.mutable_vote();
    message->set_sequence(sequence);
    message->set_step(step);
    wire::ToProto(vote, message->mutable_vote());
    reactor_->Send(std::move(request));
  }

  void Cancel() override { reactor_->Cancel(); }

 private:
  const std::shared_ptr<Reactor> reactor_;
};

}  // namespace

std::shared_ptr<WorkerStream> StartParticipating(
    std::shared_ptr<Stub> stub, const ClientOptions& options,
    v1::ParticipateOpen open, std::shared_ptr<WorkerStreamEvents> events) {
  auto reactor = std::make_shared<Reactor>(std::move(events));
  reactor->Start(stub.get(), options, std::move(open));
  return std::make_shared<Stream>(std::move(reactor));
}

}  // namespace lossscaler::internal
