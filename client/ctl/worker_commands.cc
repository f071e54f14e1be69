// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/worker_commands.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ctl/checkpoint_file.h"
#include "ctl/decision_printing.h"
#include "ctl/exit_code.h"
#include "ctl/failure.h"
#include "ctl/group_printing.h"
#include "ctl/session_lookup.h"
#include "lossscaler/client/worker_checkpoint.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

// However little is waited for, the vote must get to the server.
constexpr absl::Duration kShortestWait = absl::Seconds(1);

absl::StatusOr<JoinEvent> MakeJoin(const Environment& environment,
                                   const SessionInfo& session,
                                   const JoinRequest& request) {
  JoinEvent join;
  join.worker = request.worker;
  join.request_id = request.request_id;
  join.resume_token = request.resume_token;
  join.attempt = request.attempt.value_or(0);
  if (request.from_the_start) join.checkpoint = {.scaler = session.config};
  if (request.checkpoint_file.empty()) return join;
  const absl::StatusOr<std::string> bytes =
      ReadCheckpointFile(environment, request.checkpoint_file);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<WorkerCheckpoint> loaded = WorkerCheckpointFromBytes(*bytes);
  if (!loaded.ok()) return loaded.status();
  join.attempt = request.attempt.value_or(loaded->attempt);
  join.checkpoint = std::move(loaded->checkpoint);
  return join;
}

// What a vote on a step stands on unless it says otherwise.
struct Ground {
  double scale = 1.0;
  Base base;
};

// Of the open step, or of a decided one, so that a repeated vote is the same
// vote. That a step is not open yet is said by the server.
absl::StatusOr<Ground> GroundOf(Connection& connection,
                                const SessionInfo& session, std::int64_t step) {
  const auto base = [&](std::int64_t number, const std::string& uid) {
    return Base{.session_uid = uid.empty() ? session.uid : uid, .step = number};
  };
  const Current& current = session.current;
  if (step >= current.step) {
    return Ground{.scale = current.scale,
                  .base = base(current.base, current.base_session_uid)};
  }
  const absl::StatusOr<Decision> decision =
      FindDecision(connection, session, step);
  if (!decision.ok()) return decision.status();
  return Ground{
      .scale = decision->scale_before,
      .base = base(decision->base_before, decision->base_before_session_uid)};
}

absl::StatusOr<UpdateCall> MakeCall(Connection& connection,
                                    const SessionInfo& session,
                                    const VoteRequest& request) {
  const absl::StatusOr<WorkerRef> worker =
      FindWorker(session, request.worker, request.incarnation);
  if (!worker.ok()) return worker.status();
  UpdateCall call;
  call.session = {.name = session.name, .uid = session.uid};
  call.step = request.step;
  Vote& vote = call.vote;
  vote.worker = worker->worker;
  vote.incarnation = worker->incarnation;
  vote.verdict = request.verdict;
  vote.iteration = request.iteration;
  vote.sum_of_squares = request.sum_of_squares;
  vote.parts = request.parts;
  vote.scale_used = request.scale_used;
  vote.base = request.base;
  vote.base_session_uid = request.base ? session.uid : "";
  if (request.verdict == Verdict::kAbstain) return call;
  if (vote.scale_used && vote.base) return call;
  const absl::StatusOr<Ground> ground =
      GroundOf(connection, session, request.step);
  if (!ground.ok()) return ground.status();
  if (!vote.scale_used) vote.scale_used = ground->scale;
  if (!vote.base) {
    vote.base = ground->base.step;
    vote.base_session_uid = ground->base.session_uid;
  }
  return call;
}

absl::Duration WaitOf(const GroupConfig& group, const VoteRequest& request) {
  return std::max(request.wait.value_or(group.step_timeout + group.lease_ttl),
                  kShortestWait);
}

// The options of a connection that a vote waits on. Each attempt renews the
// lease.
ClientOptions Patient(ClientOptions options, const GroupConfig& group,
                      absl::Duration wait) {
  options.unavailable_budget = wait;
  options.unary_deadline =
      std::min({options.unary_deadline, group.lease_ttl / 3, wait});
  return options;
}

// That there is no decision yet is no fault of the server.
absl::Status Explain(const absl::Status& error, const VoteRequest& request,
                     absl::Duration wait) {
  if (ReasonOf(error) != Reason::kUnavailableBudgetSpent) return error;
  const auto metadata = MetadataOf(error);
  const auto last = metadata.find("last_code");
  if (last == metadata.end() || last->second != "DEADLINE_EXCEEDED") {
    return error;
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "step ", request.step, " was not decided within ",
      absl::FormatDuration(wait),
      "; the vote stays: `lossscalerctl workers` shows who has not voted, and "
      "the same vote again waits on"));
}

}  // namespace

int Workers(const Environment& environment, Connection& connection,
            const std::string& name, Format format) {
  const absl::StatusOr<SessionInfo> session = GetGroup(connection, name);
  if (!session.ok()) return Fail(environment, format, session.status());
  environment.out << (format == Format::kJson ? WorkersJson(*session) + "\n"
                                              : WorkersText(*session));
  return kDone;
}

int Join(const Environment& environment, Connection& connection,
         const JoinRequest& request, Format format) {
  const absl::StatusOr<SessionInfo> session =
      GetGroup(connection, request.session);
  if (!session.ok()) return Fail(environment, format, session.status());
  const absl::StatusOr<JoinEvent> join =
      MakeJoin(environment, *session, request);
  if (!join.ok()) return Fail(environment, format, join.status());
  const absl::StatusOr<JoinAnswer> joined = connection.JoinSession(
      {.name = session->name, .uid = session->uid}, *join);
  if (!joined.ok()) return Fail(environment, format, joined.status());
  environment.out << (format == Format::kJson
                          ? JoinedJson(request.worker, *joined) + "\n"
                          : JoinedText(request.worker, *joined));
  return kDone;
}

int Leave(const Environment& environment, Connection& connection,
          const LeaveRequest& request, Format format) {
  const absl::StatusOr<SessionInfo> session =
      GetGroup(connection, request.session);
  if (!session.ok()) return Fail(environment, format, session.status());
  const absl::StatusOr<WorkerRef> worker =
      FindWorker(*session, request.worker, request.incarnation);
  if (!worker.ok()) return Fail(environment, format, worker.status());
  const absl::Status status = connection.LeaveSession(
      {.name = session->name, .uid = session->uid}, *worker);
  if (!status.ok()) return Fail(environment, format, status);
  environment.out << (format == Format::kJson ? LeftJson(*worker) + "\n"
                                              : LeftText(*worker));
  return kDone;
}

int CastVote(const Environment& environment, const ClientOptions& options,
             const VoteRequest& request, Format format) {
  const std::shared_ptr<Connection> connection = environment.connect(options);
  const absl::StatusOr<SessionInfo> session =
      GetGroup(*connection, request.session);
  if (!session.ok()) return Fail(environment, format, session.status());
  const absl::StatusOr<UpdateCall> call =
      MakeCall(*connection, *session, request);
  if (!call.ok()) return Fail(environment, format, call.status());
  const absl::Duration wait = WaitOf(*session->group, request);
  const absl::StatusOr<UpdateAnswer> answer =
      environment.connect(Patient(options, *session->group, wait))
          ->Update(*call);
  if (!answer.ok()) {
    return Fail(environment, format, Explain(answer.status(), request, wait));
  }
  environment.out << (format == Format::kJson
                          ? DecidedJson(answer->decision, answer->current) +
                                "\n"
                          : DecidedText(answer->decision, answer->current));
  return kDone;
}

}  // namespace lossscaler::ctl
