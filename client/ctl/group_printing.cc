// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/group_printing.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ctl/json_values.h"
#include "ctl/one_line.h"
#include "ctl/policy_words.h"
#include "ctl/value_text.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler::ctl {
namespace {

constexpr char kNoEntry[] = "-";

std::size_t CountWhere(const SessionInfo& session,
                       bool (*holds)(const MemberView&)) {
  return static_cast<std::size_t>(
      std::count_if(session.workers.begin(), session.workers.end(), holds));
}

std::string PhaseText(const SessionInfo& session) {
  const std::size_t live = CountWhere(
      session, [](const MemberView& view) { return IsLive(view.member); });
  const std::string name(GroupPhaseName(session.phase));
  switch (session.phase) {
    case GroupPhase::kIdle:
      return absl::StrCat(name, ": no worker is in");
    case GroupPhase::kPaused:
      return absl::StrCat(name, ": ", live, " of at least ",
                          session.group->min_workers, " workers are in");
    case GroupPhase::kCheckpointMismatch:
      return absl::StrCat(
          name, ": the workers have loaded different checkpoints; one of them ",
          "must load another or leave");
    case GroupPhase::kOpen: {
      // The roster of the step is every member that is not pending.
      const std::size_t roster =
          CountWhere(session, [](const MemberView& view) {
            return view.member.state != MemberState::kPending;
          });
      const std::size_t voted = CountWhere(session, [](const MemberView& view) {
        return view.vote.has_value();
      });
      return absl::StrCat(name, ": ", voted, " of ", roster, " votes on step ",
                          session.current.step, " are in");
    }
    case GroupPhase::kRestoreRequired:
      return absl::StrCat(
          name, ": the state may be older than decisions that workers saw; ",
          "restore it from a checkpoint");
  }
  return name;
}

// The vote on the open step, else that in the last decision.
std::string LastVoteText(const SessionInfo& session, const MemberView& view) {
  if (view.vote) {
    return absl::StrCat("step ", session.current.step, " ",
                        std::string(VerdictName(view.vote->resolved)));
  }
  if (!session.last_decision) return kNoEntry;
  for (const Vote& vote : session.last_decision->votes) {
    if (vote.incarnation != view.member.incarnation) continue;
    return absl::StrCat("step ", session.last_decision->step, " ",
                        std::string(VerdictName(vote.resolved)));
  }
  return kNoEntry;
}

std::string CheckpointText(const std::optional<Checkpoint>& checkpoint) {
  if (!checkpoint) return kNoEntry;
  const Base& base = checkpoint->base;
  std::string text =
      absl::StrCat("scale ", NumberText(checkpoint->scaler.scale()), ", base ",
                   BaseText(base.step, base.step == 0 ? "" : base.session_uid));
  if (checkpoint->iteration) {
    absl::StrAppend(&text, ", iteration ", *checkpoint->iteration);
  }
  return text;
}

std::string NoteText(const MemberView& view) {
  if (!view.late_overflow) return "";
  return absl::StrCat("found an overflow in step ", *view.late_overflow,
                      " too late");
}

Row WorkerRow(const SessionInfo& session, const MemberView& view) {
  return {view.member.worker,
          absl::StrCat(view.member.incarnation),
          std::string(MemberStateName(view.member.state)),
          TimeLeftText(view.lease_left),
          LastVoteText(session, view),
          CheckpointText(view.member.checkpoint),
          NoteText(view)};
}

std::string DegradedText(const Degraded& degraded) {
  if (degraded.workers.empty()) return degraded.reason;
  return absl::StrCat(degraded.reason, " (overflow found by ",
                      absl::StrJoin(degraded.workers, ", "), ")");
}

}  // namespace

std::vector<Row> StandingRows(const SessionInfo& session) {
  return {{"phase:", PhaseText(session)},
          {"attempt:", absl::StrCat(session.attempt)}};
}

std::vector<Row> DegradedRows(const SessionInfo& session) {
  if (!session.degraded) return {};
  return {{"degraded:", DegradedText(*session.degraded)}};
}

std::vector<Row> GroupRows(const GroupConfig& config) {
  const std::string workers =
      config.min_workers == config.max_workers
          ? absl::StrCat(config.max_workers)
          : absl::StrCat(config.min_workers, " to ", config.max_workers);
  return {
      {"group:", absl::StrCat(workers, " workers, lease ",
                              absl::FormatDuration(config.lease_ttl))},
      {"on loss:", PolicyWord(kLossPolicies, config.on_loss)},
      {"on timeout:",
       absl::StrCat(PolicyWord(kStragglerPolicies, config.on_timeout),
                    " after ", absl::FormatDuration(config.step_timeout),
                    config.on_timeout == StragglerPolicy::kWait
                        ? ""
                        : absl::StrCat("; abort from timeout ",
                                       config.max_timeouts, " in a row on"))},
      {"on overflow:",
       absl::StrCat(
           "skip ",
           config.parts == PartPolicy::kAll ? "all parts" : "that part",
           config.early_decision && config.parts == PartPolicy::kAll
               ? ", at once"
               : ", when all have voted")},
      {"degraded from:",
       absl::StrCat(config.degraded_skips, " skips in a row on")},
  };
}

std::string WorkersText(const SessionInfo& session) {
  const Current& current = session.current;
  std::vector<Row> rows = StandingRows(session);
  rows.push_back({"step:", absl::StrCat(current.step)});
  rows.push_back({"scale:", NumberText(current.scale)});
  rows.push_back({"base:", BaseText(current.base, current.base_session_uid)});
  rows.push_back({"epoch:", absl::StrCat(current.epoch)});
  for (Row& row : DegradedRows(session)) rows.push_back(std::move(row));
  std::string text = Table(rows);
  if (session.workers.empty()) return text;
  rows = {{"WORKER", "INCARNATION", "STATE", "LEASE LEFT", "LAST VOTE",
           "CHECKPOINT", "NOTE"}};
  for (const MemberView& view : session.workers) {
    rows.push_back(WorkerRow(session, view));
  }
  return absl::StrCat(text, "\n", Table(rows));
}

std::string JoinedText(const std::string& worker, const JoinAnswer& joined) {
  const Membership& membership = joined.membership;
  const Current& current = membership.current;
  std::vector<Row> rows = {
      {"worker:", worker},
      {"incarnation:", absl::StrCat(joined.incarnation)},
      {"resume token:", joined.resume_token},
      {"lease:", absl::FormatDuration(joined.lease_ttl)},
      {"state:", std::string(MemberStateName(membership.state))},
      {"phase:", std::string(GroupPhaseName(membership.phase))},
      {"step:", absl::StrCat(current.step)},
      {"scale:", NumberText(current.scale)},
      {"base:", BaseText(current.base, current.base_session_uid)},
      {"epoch:", absl::StrCat(current.epoch)},
  };
  if (!membership.closed.ok()) {
    rows.push_back({"no votes yet:", std::string(membership.closed.message())});
  }
  return Table(rows);
}

std::string LeftText(const WorkerRef& worker) {
  return OneLine(absl::StrCat(worker.worker, " (incarnation ",
                              worker.incarnation, ") has left")) +
         "\n";
}

std::string WorkersJson(const SessionInfo& session) {
  Json workers = Json::array();
  for (const MemberView& view : session.workers) {
    workers.push_back(WorkerJson(view));
  }
  Json json = {{"name", session.name},
               {"uid", session.uid},
               {"phase", GroupPhaseName(session.phase)},
               {"attempt", session.attempt},
               {"current", CurrentJson(session.current)}};
  if (session.degraded) json["degraded"] = DegradedJson(*session.degraded);
  json["workers"] = workers;
  return Dump(json);
}

std::string JoinedJson(const std::string& worker, const JoinAnswer& joined) {
  const Membership& membership = joined.membership;
  Json json = {
      {"worker", worker},
      {"incarnation", joined.incarnation},
      {"resume_token", joined.resume_token},
      {"lease_ttl_millis", absl::ToInt64Milliseconds(joined.lease_ttl)},
      {"session_uid", joined.session_uid},
      {"state", MemberStateName(membership.state)},
      {"phase", GroupPhaseName(membership.phase)},
      {"current", CurrentJson(membership.current)}};
  if (!membership.closed.ok()) {
    json["closed"] = {{"reason", ReasonNameOf(membership.closed)},
                      {"message", std::string(membership.closed.message())}};
  }
  if (joined.last_decision) {
    json["last_decision"] = DecisionJson(*joined.last_decision);
  }
  return Dump(json);
}

std::string LeftJson(const WorkerRef& worker) {
  return Dump({{"left", worker.worker}, {"incarnation", worker.incarnation}});
}

}  // namespace lossscaler::ctl
