// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/crowd.h"

#include <cstddef>
#include <span>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "load/unscaler.h"

namespace lossscaler::load {
namespace {

constexpr int kConnections = 8;
// Calls under way while sessions are created and looked at.
constexpr int kClerks = 256;
// More than any call may take.
constexpr absl::Duration kLongest = absl::Minutes(2);

std::unique_ptr<Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // What fails is to be seen.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return v1::LossScalerService::NewStub(grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments));
}

}  // namespace

Crowd::Crowd(const CrowdPlan& plan, const std::string& address) : plan_(plan) {
  for (int i = 0; i < kConnections; ++i) stubs_.push_back(Connect(address));
  sessions_.resize(static_cast<std::size_t>(plan.sessions));
  for (int i = 0; i < plan.sessions; ++i) {
    LoadSession& session = sessions_[static_cast<std::size_t>(i)];
    session.name = absl::StrCat("load/", i);
    if (i < plan.groups) {
      session.workers = plan.workers_per_group;
    } else {
      session.fixed_scale = i < plan.groups + plan.unscalers;
    }
  }
}

Stub* Crowd::NextStub() { return stubs_[dealt_++ % stubs_.size()].get(); }

std::span<LoadSession> Crowd::Updated() {
  return std::span(sessions_).subspan(
      static_cast<std::size_t>(plan_.groups + plan_.unscalers));
}

void Crowd::CreateSessions() {
  Cursor cursor{.sessions = sessions_};
  std::vector<std::unique_ptr<Caller>> creators;
  for (int i = 0; i < kClerks; ++i) {
    creators.push_back(MakeCreator(&course_, NextStub(), &cursor));
  }
  RunAll(creators);
}

void Crowd::AuditSessions() {
  Cursor cursor{.sessions = sessions_};
  std::vector<std::unique_ptr<Caller>> auditors;
  for (int i = 0; i < kClerks; ++i) {
    auditors.push_back(MakeAuditor(&course_, NextStub(), &cursor));
  }
  RunAll(auditors);
}

void Crowd::RunAll(const std::vector<std::unique_ptr<Caller>>& callers) {
  for (const std::unique_ptr<Caller>& caller : callers) caller->Start();
  Await(0);
}

absl::Status Crowd::Gather() {
  for (int i = 0; i < plan_.groups; ++i) {
    LoadSession& session = sessions_[static_cast<std::size_t>(i)];
    groups_.push_back(std::make_unique<Group>(&session, &course_));
    Group& group = *groups_.back();
    group.watcher = MakeWatcher(&course_, NextStub(), session);
    for (int rank = 0; rank < plan_.workers_per_group; ++rank) {
      absl::StatusOr<std::unique_ptr<LoadWorker>> worker =
          Join(&course_, NextStub(), session, absl::StrCat("rank-", rank),
               &group.end);
      if (!worker.ok()) return worker.status();
      group.workers.push_back(*std::move(worker));
    }
  }
  for (int i = 0; i < plan_.unscalers; ++i) {
    callers_.push_back(
        MakeUnscaler(&course_, NextStub(),
                     &sessions_[static_cast<std::size_t>(plan_.groups + i)]));
  }
  for (int i = 0; i < plan_.loss_scalers; ++i) {
    callers_.push_back(MakeLossScaler(&course_, NextStub(), Updated()));
  }
  for (int i = 0; i < plan_.readers; ++i) {
    callers_.push_back(MakeReader(&course_, NextStub(), Updated()));
  }
  const std::size_t updaters = static_cast<std::size_t>(plan_.updaters);
  const std::span<LoadSession> updated = Updated();
  for (std::size_t i = 0; i < updaters; ++i) {
    const std::size_t begin = updated.size() * i / updaters;
    const std::size_t end = updated.size() * (i + 1) / updaters;
    callers_.push_back(
        MakeUpdater(&course_, NextStub(), updated.subspan(begin, end - begin)));
  }
  return absl::OkStatus();
}

void Crowd::CallFor(absl::Duration duration) {
  if (absl::Status status = Gather(); !status.ok()) {
    return course_.Failed(Kind::kVote, status);
  }
  for (const auto& group : groups_) {
    group->watcher->Start();
    for (const auto& worker : group->workers) worker->Start();
  }
  for (const auto& caller : callers_) caller->Start();
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(duration));
  if (course_.under_way() != plan_.callers()) {
    course_.Failed(Kind::kVote, absl::InternalError(absl::StrCat(
                                    course_.under_way(), " of ",
                                    plan_.callers(), " callers were left")));
  }
  course_.Stop();
  Await(plan_.groups);
  for (const auto& group : groups_) {
    group->session->acknowledged = group->workers.front()->acknowledged();
    for (const auto& worker : group->workers) {
      if (worker->acknowledged() != group->session->acknowledged) {
        course_.Failed(
            Kind::kVote,
            absl::DataLossError(absl::StrCat(
                "one worker was told of ", worker->acknowledged(),
                " decisions, another one of ", group->session->acknowledged)));
      }
    }
    group->watcher->EndAt(group->session->acknowledged);
  }
  Await(0);
}

void Crowd::Await(std::int64_t left) {
  if (course_.WaitUntilUnderWay(left, kLongest)) return;
  course_.Failed(Kind::kVote,
                 absl::DeadlineExceededError(absl::StrCat(
                     course_.under_way(), " calls were not answered")));
  for (const auto& group : groups_) {
    group->watcher->Cancel();
    for (const auto& worker : group->workers) worker->Cancel();
  }
  course_.WaitUntilUnderWay(0, absl::InfiniteDuration());
}

}  // namespace lossscaler::load
