// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/sessions.h"

#include "absl/strings/str_cat.h"

namespace lossscaler::load {
namespace {

using v1::CreateSessionRequest;
using v1::CreateSessionResponse;
using v1::GetSessionRequest;
using v1::GetSessionResponse;
using v1::ScaleLossRequest;
using v1::ScaleLossResponse;
using v1::UpdateRequest;
using v1::UpdateResponse;

constexpr std::int64_t kOverflowEvery = 16;

class Creator
    : public UnaryCaller<CreateSessionRequest, CreateSessionResponse> {
 public:
  Creator(Course* course, Stub* stub, Cursor* cursor)
      : UnaryCaller(course, Kind::kCreate, stub,
                    &Stub::async_interface::CreateSession),
        cursor_(cursor) {}

 private:
  bool Ask(CreateSessionRequest* request) override {
    session_ = cursor_->Take();
    if (session_ == nullptr) return false;
    request->Clear();
    request->set_session(session_->name);
    if (session_->fixed_scale) {
      request->mutable_scaler()->mutable_static_()->set_scale(kFixedScale);
    } else {
      v1::DynamicScaler* const scaler =
          request->mutable_scaler()->mutable_dynamic();
      scaler->set_scale(65536);
      scaler->set_growth_factor(2);
      scaler->set_backoff_factor(0.5);
      scaler->set_growth_interval(2000);
    }
    if (session_->workers > 0) {
      request->set_kind(v1::SESSION_KIND_GROUP);
      request->mutable_group()->set_max_workers(session_->workers);
      // Longer than a busy machine may keep a worker from voting.
      request->mutable_group()->mutable_lease_ttl()->set_seconds(600);
    }
    return true;
  }

  absl::Status Take(const CreateSessionRequest& /*request*/,
                    const CreateSessionResponse& response) override {
    session_->uid = response.session().uid();
    session_->scale = response.session().current().scale();
    return absl::OkStatus();
  }

  Cursor* const cursor_;
  LoadSession* session_ = nullptr;
};

class Auditor : public UnaryCaller<GetSessionRequest, GetSessionResponse> {
 public:
  Auditor(Course* course, Stub* stub, Cursor* cursor)
      : UnaryCaller(course, Kind::kGet, stub,
                    &Stub::async_interface::GetSession),
        cursor_(cursor) {}

 private:
  bool Ask(GetSessionRequest* request) override {
    session_ = cursor_->Take();
    if (session_ == nullptr) return false;
    request->set_session(session_->name);
    request->set_session_uid(session_->uid);
    return true;
  }

  absl::Status Take(const GetSessionRequest& /*request*/,
                    const GetSessionResponse& response) override {
    const v1::Session& found = response.session();
    // The first step is 1, and each decision takes one.
    if (found.current().step() - 1 != session_->acknowledged ||
        found.attempted() != session_->acknowledged) {
      return absl::DataLossError(
          absl::StrCat(session_->name, " is at step ", found.current().step(),
                       " with ", found.attempted(), " updates, and ",
                       session_->acknowledged, " were acknowledged"));
    }
    return absl::OkStatus();
  }

  Cursor* const cursor_;
  LoadSession* session_ = nullptr;
};

class Updater : public UnaryCaller<UpdateRequest, UpdateResponse> {
 public:
  Updater(Course* course, Stub* stub, std::span<LoadSession> sessions)
      : UnaryCaller(course, Kind::kUpdate, stub,
                    &Stub::async_interface::Update),
        sessions_(sessions) {}

 private:
  bool Ask(UpdateRequest* request) override {
    if (course().stopping()) return false;
    session_ = &sessions_[calls_++ % sessions_.size()];
    const bool overflow = session_->step % kOverflowEvery == 0;
    request->set_session(session_->name);
    request->set_session_uid(session_->uid);
    request->set_step(session_->step);
    request->set_verdict(overflow ? v1::VERDICT_OVERFLOW : v1::VERDICT_FINITE);
    request->set_scale_used(session_->scale);
    request->mutable_base()->set_session_uid(session_->uid);
    request->mutable_base()->set_step(session_->base);
    return true;
  }

  absl::Status Take(const UpdateRequest& request,
                    const UpdateResponse& response) override {
    const v1::Outcome expected = request.verdict() == v1::VERDICT_OVERFLOW
                                     ? v1::OUTCOME_SKIP_OVERFLOW
                                     : v1::OUTCOME_APPLY;
    if (response.decision().step() != request.step() ||
        response.decision().outcome() != expected) {
      return absl::DataLossError(
          absl::StrCat("step ", request.step(), " of ", session_->name,
                       " has another decision than it must have"));
    }
    ++session_->acknowledged;
    session_->step = response.current().step();
    session_->scale = response.current().scale();
    session_->base = response.current().base();
    return absl::OkStatus();
  }

  const std::span<LoadSession> sessions_;
  std::size_t calls_ = 0;
  LoadSession* session_ = nullptr;
};

class ScalingCaller : public UnaryCaller<ScaleLossRequest, ScaleLossResponse> {
 public:
  ScalingCaller(Course* course, Stub* stub,
                std::span<const LoadSession> sessions)
      : UnaryCaller(course, Kind::kScaleLoss, stub,
                    &Stub::async_interface::ScaleLoss),
        sessions_(sessions) {}

 private:
  bool Ask(ScaleLossRequest* request) override {
    if (course().stopping()) return false;
    const LoadSession& session = sessions_[calls_++ % sessions_.size()];
    request->Clear();
    request->set_session(session.name);
    request->set_session_uid(session.uid);
    request->add_losses(0.25F);
    return true;
  }

  absl::Status Take(const ScaleLossRequest& request,
                    const ScaleLossResponse& response) override {
    if (response.scaled_losses_size() == 1 &&
        response.scaled_losses(0) ==
            0.25F * static_cast<float>(response.scale())) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat("a loss of ", request.session(),
                                            " was scaled by something else"));
  }

  const std::span<const LoadSession> sessions_;
  std::size_t calls_ = 0;
};

class Reader : public UnaryCaller<GetSessionRequest, GetSessionResponse> {
 public:
  Reader(Course* course, Stub* stub, std::span<const LoadSession> sessions)
      : UnaryCaller(course, Kind::kGet, stub,
                    &Stub::async_interface::GetSession),
        sessions_(sessions) {}

 private:
  bool Ask(GetSessionRequest* request) override {
    if (course().stopping()) return false;
    const LoadSession& session = sessions_[calls_++ % sessions_.size()];
    request->set_session(session.name);
    request->set_session_uid(session.uid);
    return true;
  }

  absl::Status Take(const GetSessionRequest& request,
                    const GetSessionResponse& response) override {
    if (response.session().uid() == request.session_uid()) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        absl::StrCat(request.session(), " is another session"));
  }

  const std::span<const LoadSession> sessions_;
  std::size_t calls_ = 0;
};

}  // namespace

LoadSession* Cursor::Take() {
  const std::size_t taken = next++;
  return taken < sessions.size() ? &sessions[taken] : nullptr;
}

std::unique_ptr<Caller> MakeCreator(Course* course, Stub* stub,
                                    Cursor* cursor) {
  return std::make_unique<Creator>(course, stub, cursor);
}

std::unique_ptr<Caller> MakeAuditor(Course* course, Stub* stub,
                                    Cursor* cursor) {
  return std::make_unique<Auditor>(course, stub, cursor);
}

std::unique_ptr<Caller> MakeUpdater(Course* course, Stub* stub,
                                    std::span<LoadSession> sessions) {
  return std::make_unique<Updater>(course, stub, sessions);
}

std::unique_ptr<Caller> MakeLossScaler(Course* course, Stub* stub,
                                       std::span<const LoadSession> sessions) {
  return std::make_unique<ScalingCaller>(course, stub, sessions);
}

std::unique_ptr<Caller> MakeReader(Course* course, Stub* stub,
                                   std::span<const LoadSession> sessions) {
  return std::make_unique<Reader>(course, stub, sessions);
}

}  // namespace lossscaler::load
