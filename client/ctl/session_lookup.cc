// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/session_lookup.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

absl::Status NotDecided(const SessionInfo& session, std::int64_t step) {
  const std::int64_t open = session.current.step;
  const ErrorMetadata metadata = {{"step", absl::StrCat(step)},
                                  {"expected_step", absl::StrCat(open)}};
  if (step >= open) {
    return MakeError(Reason::kStepAhead,
                     absl::StrCat("step ", step,
                                  " is not decided; the session's next "
                                  "decision is step ",
                                  open),
                     metadata);
  }
  return MakeError(
      Reason::kStepForgotten,
      absl::StrCat("the journal keeps no decision of step ", step, " any more"),
      metadata);
}

}  // namespace

absl::StatusOr<SessionInfo> GetGroup(Connection& connection,
                                     const std::string& name) {
  absl::StatusOr<SessionInfo> info =
      connection.GetSession({.name = name, .uid = ""});
  if (!info.ok() || info->group) return info;
  return MakeError(
      Reason::kWrongKind,
      absl::StrCat("the session ", Quoted(name),
                   " is a solo session, which has no workers; groups are "
                   "created with --max-workers"),
      {{"session", Quoted(name)}});
}

absl::StatusOr<WorkerRef> FindWorker(const SessionInfo& session,
                                     const std::string& worker,
                                     std::optional<std::int64_t> incarnation) {
  if (incarnation) {
    return WorkerRef{.worker = worker, .incarnation = *incarnation};
  }
  std::vector<std::string> names;
  for (const MemberView& view : session.workers) {
    const Member& member = view.member;
    if (!IsLive(member)) continue;
    if (member.worker == worker) {
      return WorkerRef{.worker = worker, .incarnation = member.incarnation};
    }
    names.push_back(Quoted(member.worker));
  }
  return absl::NotFoundError(absl::StrCat(
      "no worker ", Quoted(worker), " is in ", Quoted(session.name), "; ",
      names.empty() ? "nobody is"
                    : absl::StrCat("there are ", absl::StrJoin(names, ", "))));
}

absl::StatusOr<Decision> FindDecision(Connection& connection,
                                      const SessionInfo& session,
                                      std::int64_t step) {
  const absl::StatusOr<DecisionPage> page = connection.ListDecisions(
      {.name = session.name, .uid = session.uid}, {.step = step});
  if (!page.ok()) return page.status();
  if (page->decisions.empty()) return NotDecided(session, step);
  return page->decisions.front();
}

}  // namespace lossscaler::ctl
