// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/participate_reactor.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "lossscaler/wire/status.h"
#include "rpc/grpc_status.h"
#include "rpc/translate.h"

namespace lossscaler::server {
namespace {

struct ToResponse {
  v1::ParticipateResponse* response;

  void operator()(const Participation::Opened& opened) const {
    wire::ToProto(opened.membership, response->mutable_opened());
  }
  void operator()(const Participation::Changed& changed) const {
    wire::ToProto(changed.membership, response->mutable_changed());
  }
  void operator()(const Participation::Beat& beat) const {
    v1::HeartbeatAnswer* const proto = response->mutable_heartbeat();
    proto->set_sequence(beat.sequence);
    wire::ToProto(beat.membership, proto->mutable_membership());
    if (!beat.error.ok()) wire::ToProto(beat.error, proto->mutable_error());
  }
  void operator()(const Participation::Voted& voted) const {
    v1::VoteAnswer* const proto = response->mutable_vote();
    proto->set_sequence(voted.sequence);
    if (!voted.answer.ok()) {
      wire::ToProto(voted.answer.status(), proto->mutable_error());
      return;
    }
    wire::ToProto(voted.answer->decision, proto->mutable_decision());
    wire::ToProto(voted.answer->current, proto->mutable_current());
  }
};

}  // namespace

ParticipateReactor::ParticipateReactor(grpc::CallbackServerContext* context,
                                       std::unique_ptr<Call> call,
                                       const Environment& environment)
    : context_(context),
      call_(std::move(call)),
      environment_(environment),
      participation_(std::make_shared<Participation>(
          environment.participants,
          static_cast<Participation::Transport*>(this))),
      watch_(environment.watchdog->Watch([this] { return EndIdle(); })) {
  participation_->Start();
}

void ParticipateReactor::OnReadDone(bool ok) {
  if (!ok) {
    // A call that breaks ends its messages as a half-close does.
    if (context_->IsCancelled()) return OnCancel();
    return participation_->TakeEnd();
  }
  switch (request_.message_case()) {
    case v1::ParticipateRequest::kOpen:
      return TakeOpen(request_.open());
    case v1::ParticipateRequest::kHeartbeat:
      return TakeHeartbeat(request_.heartbeat());
    case v1::ParticipateRequest::kVote: {
      const v1::StreamVote& vote = request_.vote();
      return participation_->TakeVote(
          vote.sequence(),
          vote.has_step() ? std::optional(vote.step()) : std::nullopt,
          wire::SentVoteFromProto(vote.vote()));
    }
    case v1::ParticipateRequest::MESSAGE_NOT_SET:
      return participation_->TakeEmpty();
  }
}

void ParticipateReactor::TakeOpen(const v1::ParticipateOpen& open) {
  participation_->TakeOpen(
      Find(open), wire::WorkerRefOf(open.worker(), open.incarnation()));
}

absl::StatusOr<std::shared_ptr<Session>> ParticipateReactor::Find(
    const v1::ParticipateOpen& open) {
  {
    MutexLock lock(&call_mutex_);
    // A second `open` is refused, and is not what the call was about.
    if (!std::exchange(named_, true)) {
      call_->Name(open.worker(), std::nullopt);
      if (absl::Status status = call_->Admit(open.session()); !status.ok()) {
        return status;
      }
    }
  }
  return environment_.registry->Find(open.session(), open.session_uid());
}

void ParticipateReactor::TakeHeartbeat(const v1::Heartbeat& heartbeat) {
  absl::StatusOr<std::optional<Checkpoint>> checkpoint = std::nullopt;
  if (heartbeat.has_checkpoint()) {
    absl::StatusOr<Checkpoint> read =
        wire::CheckpointFromProto(heartbeat.checkpoint());
    if (read.ok()) {
      checkpoint = *std::move(read);
    } else {
      checkpoint = read.status();
    }
  }
  participation_->TakeHeartbeat(heartbeat.sequence(), std::move(checkpoint));
}

void ParticipateReactor::OnWriteDone(bool ok) { participation_->Written(ok); }

void ParticipateReactor::OnCancel() { participation_->Abandon(); }

void ParticipateReactor::OnDone() {
  environment_.watchdog->Forget(watch_);
  if (lasting_) {
    environment_.gate->LeaveLasting();
  } else {
    environment_.gate->Leave();
  }
  delete this;
}

void ParticipateReactor::StartRead() {
  ServerBidiReactor::StartRead(&request_);
}

void ParticipateReactor::StartWrite(const Participation::Answer& answer) {
  if (!lasting_ && std::holds_alternative<Participation::Opened>(answer)) {
    lasting_ = true;
    environment_.gate->BecomeLasting();
  }
  std::visit(ToResponse{&response_}, answer);
  ServerBidiReactor::StartWrite(&response_);
}

void ParticipateReactor::Finish(const absl::Status& status) {
  {
    MutexLock lock(&call_mutex_);
    call_->End(status);
  }
  ServerBidiReactor::Finish(ToGrpcStatus(status));
}

bool ParticipateReactor::EndIdle() {
  switch (participation_->LookForIdleness()) {
    case Participation::Idleness::kNone:
      return false;
    case Participation::Idleness::kNotTaken:
      // A status would queue behind the answer that the client does not take.
      context_->TryCancel();
      return true;
    case Participation::Idleness::kNotOpened:
      break;
  }
  participation_->End(
      MakeError(Reason::kStreamIdle,
                "the stream was not opened for too long; send `open` at once"));
  return true;
}

}  // namespace lossscaler::server
