// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/participate_stream.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "grpc/support/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/malformed_answer.h"
#include "lossscaler/client/internal/outgoing_queue.h"
#include "lossscaler/client/internal/queue_deadline.h"
#include "lossscaler/client/internal/refused_stream.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "lossscaler/wire/status.h"

namespace lossscaler::internal {
namespace {

// Which operation is done. A completion queue is given, and hands back, the
// address of one of these.
enum class Tag { kRead, kWrite, kFinish, kInterrupt };
Tag tags[] = {Tag::kRead, Tag::kWrite, Tag::kFinish, Tag::kInterrupt};

void* ToPointer(Tag tag) { return &tags[static_cast<int>(tag)]; }

// A call on a completion queue of its own. It goes on while Poll() runs: what
// is done is taken from the queue there, and nowhere else but in the
// destructor. Any thread may write, cancel and interrupt meanwhile.
//
// A read is under way only while there is a Poll(): gRPC grants the peer more
// bytes for each one, with a packet of its own if no message goes out.
class Stream : public WorkerStream {
 public:
  Stream(Stub* stub, const ClientOptions& options, v1::ParticipateOpen open,
         std::shared_ptr<WorkerStreamEvents> events)
      : events_(std::move(events)) {
    AddHeaders(options, &context_);
    // The headers go out with the first message, and starting is no operation.
    context_.set_initial_metadata_corked(true);
    call_ = stub->Participate(&context_, &queue_);
    call_->StartCall(nullptr);
    v1::ParticipateRequest request;
    *request.mutable_open() = std::move(open);
    outgoing_.Push(std::move(request));
  }

  // Once cancelled, every operation is done as soon as gRPC comes to it.
  ~Stream() override {
    events_.reset();
    context_.TryCancel();
    outgoing_.End();
    void* tag = nullptr;
    bool ok = false;
    while (!finished_) {
      if (!reading_ && !finishing_) Finish();
      if (queue_.Next(&tag, &ok)) Done(tag, ok);
    }
    queue_.Shutdown();
    while (queue_.Next(&tag, &ok)) {
    }
  }

  bool needs_polling() const override { return true; }

  void Poll(absl::Duration at_most) override {
    const gpr_timespec deadline = After(at_most);
    if (!reading_ && !finishing_) Read();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.AsyncNext(&tag, &ok, deadline) ==
           grpc::CompletionQueue::GOT_EVENT) {
      if (Done(tag, ok)) return;
    }
  }

  void Interrupt() override {
    if (interrupted_.exchange(true)) return;
    alarm_.Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC),
               ToPointer(Tag::kInterrupt));
  }

  void SendHeartbeat(std::int64_t sequence,
                     const std::optional<Checkpoint>& checkpoint) override {
    v1::ParticipateRequest request;
    v1::Heartbeat* heartbeat = request.mutable_heartbeat();
    heartbeat->set_sequence(sequence);
    if (checkpoint) {
      wire::ToProto(*checkpoint, heartbeat->mutable_checkpoint());
    }
    outgoing_.Push(std::move(request));
  }

  void SendVote(std::int64_t sequence, std::int64_t step,
                const Vote& vote) override {
    v1::ParticipateRequest request;
    v1::StreamVote* message = request.mutable_vote();
    message->set_sequence(sequence);
    message->set_step(step);
    wire::ToProto(vote, message->mutable_vote());
    outgoing_.Push(std::move(request));
  }

  void Cancel() override { context_.TryCancel(); }

 private:
  void Read() {
    reading_ = true;
    call_->Read(&response_, ToPointer(Tag::kRead));
  }

  void Finish() {
    finishing_ = true;
    call_->Finish(&status_, ToPointer(Tag::kFinish));
  }

  // Goes on after an operation. True: Poll() is over.
  bool Done(void* tag, bool ok) {
    switch (*static_cast<const Tag*>(tag)) {
      case Tag::kRead:
        reading_ = false;
        return ReadDone(ok);
      case Tag::kWrite:
        if (ok) outgoing_.WriteDone();
        return false;
      case Tag::kFinish:
        finished_ = true;
        if (events_) {
          std::exchange(events_, nullptr)
              ->OnClosed(wrong_.ok() ? FromGrpc(status_) : wrong_);
        }
        return true;
      case Tag::kInterrupt:
        // One that comes before this line is answered by this return.
        interrupted_ = false;
        return true;
    }
    return false;
  }

  bool ReadDone(bool ok) {
    if (!ok) {
      outgoing_.End();
      Finish();
      return false;
    }
    if (!events_) return false;
    if (wrong_.ok()) wrong_ = Deliver();
    if (wrong_.ok()) return true;
    // Its status comes after what has been sent.
    context_.TryCancel();
    Read();
    return false;
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

  std::shared_ptr<WorkerStreamEvents> events_;
  grpc::CompletionQueue queue_;
  grpc::Alarm alarm_;
  // An interrupt is in the queue.
  std::atomic<bool> interrupted_ = false;
  grpc::ClientContext context_;
  std::unique_ptr<Stub::ParticipateCall> call_;
  v1::ParticipateResponse response_;
  grpc::Status status_;
  bool reading_ = false;
  bool finishing_ = false;
  bool finished_ = false;
  // A message could not be used.
  absl::Status wrong_;
  OutgoingQueue<v1::ParticipateRequest> outgoing_{
      [this](const v1::ParticipateRequest& request) {
        call_->Write(request, ToPointer(Tag::kWrite));
      }};
};

}  // namespace

std::shared_ptr<WorkerStream> StartParticipating(
    const std::shared_ptr<Stub>& stub, const ClientOptions& options,
    v1::ParticipateOpen open, std::shared_ptr<WorkerStreamEvents> events) {
  if (absl::Status status = CheckCredentials(options); !status.ok()) {
    return RefuseToParticipate(status, events);
  }
  return std::make_shared<Stream>(stub.get(), options, std::move(open),
                                  std::move(events));
}

}  // namespace lossscaler::internal
