// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/group.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/client_callback.h"

namespace lossscaler::load {
namespace {

class Worker final : public LoadWorker,
                     private grpc::ClientBidiReactor<v1::ParticipateRequest,
                                                     v1::ParticipateResponse> {
 public:
  Worker(Course* course, Stub* stub, const LoadSession& session,
         const std::string& worker, std::int64_t incarnation, CommonEnd* end)
      : course_(course), stub_(stub), uid_(session.uid), end_(end) {
    v1::ParticipateOpen& open = *next_.mutable_open();
    open.set_session(session.name);
    open.set_session_uid(session.uid);
    open.set_worker(worker);
    open.set_incarnation(incarnation);
  }

  void Start() override {
    course_->Begin();
    stub_->async()->Participate(&context_, this);
    Send();
    StartRead(&response_);
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }
  std::int64_t acknowledged() const override { return acknowledged_; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    absl::Status status;
    switch (response_.message_case()) {
      case v1::ParticipateResponse::kOpened:
        status = Follow(response_.opened());
        break;
      case v1::ParticipateResponse::kChanged:
        status = Follow(response_.changed());
        break;
      case v1::ParticipateResponse::kVote:
        status = Take(response_.vote());
        break;
      case v1::ParticipateResponse::kHeartbeat:
      case v1::ParticipateResponse::MESSAGE_NOT_SET:
        status = absl::DataLossError("a message that nothing asked for");
    }
    if (!status.ok()) {
      course_->Failed(Kind::kVote, status);
      return Cancel();
    }
    StartRead(&response_);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (ok && ready_) StartNext();
  }

  void OnDone(const grpc::Status& status) override {
    if (!status.ok()) course_->Failed(Kind::kVote, testing::ToAbsl(status));
    course_->End();
  }

  // The first vote, as soon as the group takes votes.
  absl::Status Follow(const v1::Membership& membership) {
    if (step_ == 0 && membership.phase() == v1::GROUP_PHASE_OPEN &&
        membership.state() == v1::WORKER_STATE_ACTIVE) {
      Vote(membership.current());
    }
    return absl::OkStatus();
  }

  absl::Status Take(const v1::VoteAnswer& answer) {
    if (answer.has_error()) {
      return absl::Status(static_cast<absl::StatusCode>(answer.error().code()),
                          answer.error().message());
    }
    course_->Answered(Kind::kVote, start_);
    if (answer.decision().step() != step_ ||
        answer.decision().outcome() != v1::OUTCOME_APPLY) {
      return absl::DataLossError(absl::StrCat(
          "step ", step_, " has another decision than it must have"));
    }
    ++acknowledged_;
    Vote(answer.current());
    return absl::OkStatus();
  }

  void Vote(const v1::Current& current) {
    if (!end_->Admits(current.step())) return StartWritesDone();
    step_ = current.step();
    start_ = Course::Clock::now();
    MutexLock lock(&mutex_);
    v1::StreamVote& vote = *next_.mutable_vote();
    vote.set_sequence(step_);
    vote.set_step(step_);
    vote.mutable_vote()->set_verdict(v1::VERDICT_FINITE);
    vote.mutable_vote()->set_scale_used(current.scale());
    vote.mutable_vote()->set_base(current.base());
    vote.mutable_vote()->set_base_session_uid(uid_);
    ready_ = true;
    if (!writing_) StartNext();
  }

  void Send() {
    MutexLock lock(&mutex_);
    StartNext();
  }

  // An answer may be here before gRPC says that the write is done.
  void StartNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ready_ = false;
    writing_ = true;
    std::swap(request_, next_);
    StartWrite(&request_);
  }

  Course* const course_;
  Stub* const stub_;
  const std::string uid_;
  CommonEnd* const end_;
  grpc::ClientContext context_;
  v1::ParticipateResponse response_;
  std::int64_t step_ = 0;
  std::int64_t acknowledged_ = 0;
  Course::Clock::time_point start_;

  Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  v1::ParticipateRequest next_ ABSL_GUARDED_BY(mutex_);
  v1::ParticipateRequest request_ ABSL_GUARDED_BY(mutex_);
};

class Watcher final
    : public LoadWatcher,
      private grpc::ClientReadReactor<v1::WatchSessionResponse> {
 public:
  Watcher(Course* course, Stub* stub, const LoadSession& session)
      : course_(course), stub_(stub) {
    request_.set_session(session.name);
    request_.set_session_uid(session.uid);
    request_.set_from_step(1);
  }

  void Start() override {
    course_->Begin();
    stub_->async()->WatchSession(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  void Cancel() override { context_.TryCancel(); }

  void EndAt(std::int64_t step) override {
    MutexLock lock(&mutex_);
    end_ = step;
    EndIfDone();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      MutexLock lock(&mutex_);
      const std::int64_t step = response_.decision().step();
      if (step != seen_ + 1) {
        course_->Failed(Kind::kWatch,
                        absl::DataLossError(absl::StrCat(
                            "step ", step, " was seen after ", seen_)));
      }
      seen_ = step;
      EndIfDone();
    }
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    bool complete;
    {
      MutexLock lock(&mutex_);
      complete = end_ && seen_ >= *end_;
    }
    if (!complete) course_->Failed(Kind::kWatch, testing::ToAbsl(status));
    course_->End();
  }

  void EndIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (end_ && seen_ >= *end_) context_.TryCancel();
  }

  Course* const course_;
  Stub* const stub_;
  grpc::ClientContext context_;
  v1::WatchSessionRequest request_;
  v1::WatchSessionResponse response_;

  Mutex mutex_;
  std::int64_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<std::int64_t> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool CommonEnd::Admits(std::int64_t step) {
  MutexLock lock(&mutex_);
  if (course_->stopping()) return step <= highest_;
  highest_ = std::max(highest_, step);
  return true;
}

absl::StatusOr<std::unique_ptr<LoadWorker>> Join(Course* course, Stub* stub,
                                                 const LoadSession& session,
                                                 const std::string& worker,
                                                 CommonEnd* end) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::JoinSessionRequest request;
  request.set_session(session.name);
  request.set_session_uid(session.uid);
  request.set_worker(worker);
  request.set_request_id(worker);
  v1::JoinSessionResponse response;
  const grpc::Status status = stub->JoinSession(&context, request, &response);
  if (!status.ok()) return testing::ToAbsl(status);
  return std::make_unique<Worker>(course, stub, session, worker,
                                  response.incarnation(), end);
}

std::unique_ptr<LoadWatcher> MakeWatcher(Course* course, Stub* stub,
                                         const LoadSession& session) {
  return std::make_unique<Watcher>(course, stub, session);
}

}  // namespace lossscaler::load
