// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/decision_printing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ctl/json_values.h"
#include "ctl/one_line.h"
#include "ctl/table.h"
#include "ctl/value_text.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler::ctl {
namespace {

constexpr char kNothing[] = "-";
// In a table of many decisions.
constexpr std::size_t kVotersShown = 4;

// Marks of a decision that somebody should look at.
std::string MarksText(const Decision& decision) {
  std::string marks;
  if (decision.saturated) marks += " saturated";
  if (decision.floored) marks += " floored";
  if (decision.stalled) marks += " stalled";
  return marks.empty() ? "none" : marks.substr(1);
}

std::string ChangeText(double before, double after) {
  return absl::StrCat(NumberText(before), " -> ", NumberText(after));
}

std::string NormText(const std::optional<double>& sum_of_squares) {
  return sum_of_squares ? NumberText(std::sqrt(*sum_of_squares)) : kNothing;
}

std::string VotersText(const Decision& decision) {
  if (decision.votes.empty()) return kNothing;
  const std::size_t shown = std::min(decision.votes.size(), kVotersShown);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string& worker = decision.votes[i].worker;
    names.push_back(worker.empty() ? "the trainer" : worker);
  }
  std::string text = absl::StrJoin(names, ", ");
  if (decision.votes.size() > shown) {
    absl::StrAppend(&text, " and ", decision.votes.size() - shown, " more");
  }
  return text;
}

std::vector<std::string> VotersOf(const Decision& decision, Verdict verdict) {
  std::vector<std::string> names;
  for (const Vote& vote : decision.votes) {
    if (vote.resolved == verdict && !vote.worker.empty()) {
      names.push_back(vote.worker);
    }
  }
  return names;
}

std::vector<std::string> MembersWhere(
    const SessionInfo& session,
    const std::function<bool(const MemberView&)>& holds) {
  std::vector<std::string> names;
  for (const MemberView& view : session.workers) {
    if (holds(view)) names.push_back(view.member.worker);
  }
  return names;
}

std::vector<std::string> LateOverflows(const Decision& decision,
                                       const SessionInfo& session) {
  return MembersWhere(session, [&](const MemberView& view) {
    return view.late_overflow == decision.step;
  });
}

// Who belongs to the session now and has no vote in the decision. Who joined
// later is among them: rosters are not kept.
std::vector<std::string> WithoutVote(const Decision& decision,
                                     const SessionInfo& session) {
  return MembersWhere(session, [&](const MemberView& view) {
    return IsLive(view.member) &&
           std::none_of(decision.votes.begin(), decision.votes.end(),
                        [&](const Vote& vote) {
                          return vote.incarnation == view.member.incarnation;
                        });
  });
}

void AddNames(const std::string& title, const std::vector<std::string>& names,
              std::vector<Row>* rows, const std::string& remark = "") {
  if (names.empty()) return;
  rows->push_back({title, absl::StrCat(absl::StrJoin(names, ", "), remark)});
}

std::string VoteText(const Vote& vote) {
  std::string text(VerdictName(vote.resolved));
  if (vote.stream_ids.empty()) return text;
  return absl::StrCat(text, " (", vote.stream_ids.size(), " streams)");
}

std::string PartsText(const Vote& vote) {
  if (vote.parts.empty()) return kNothing;
  std::vector<std::string> parts;
  for (const PartVote& part : vote.parts) {
    parts.push_back(
        absl::StrCat(part.name, " ", std::string(VerdictName(part.verdict))));
  }
  return absl::StrJoin(parts, ", ");
}

Row VoteRow(const Vote& vote) {
  return {vote.worker.empty() ? kNothing : vote.worker,
          vote.incarnation == 0 ? kNothing : absl::StrCat(vote.incarnation),
          VoteText(vote),
          vote.scale_used ? NumberText(*vote.scale_used) : kNothing,
          vote.base ? BaseText(*vote.base, vote.base_session_uid) : kNothing,
          vote.iteration ? absl::StrCat(*vote.iteration) : kNothing,
          NormText(vote.sum_of_squares),
          PartsText(vote)};
}

std::vector<Row> CauseRows(const Decision& decision,
                           const SessionInfo& session) {
  std::vector<Row> rows;
  AddNames("overflow found by:", VotersOf(decision, Verdict::kOverflow), &rows);
  AddNames("skip asked for by:", VotersOf(decision, Verdict::kSkip), &rows);
  AddNames("lost before voting:", decision.lost, &rows);
  AddNames("evicted:", decision.evicted, &rows);
  AddNames("without a vote:", WithoutVote(decision, session), &rows,
           " (of the workers that are in now)");
  AddNames("overflow found too late by:", LateOverflows(decision, session),
           &rows);
  if (decision.next_iteration) {
    rows.push_back(
        {"all go on at iteration:", absl::StrCat(*decision.next_iteration)});
  }
  if (!decision.request_id.empty()) {
    rows.push_back({"made by request:", decision.request_id});
  }
  return rows;
}

std::string VotesTable(const Decision& decision) {
  if (decision.votes.empty()) return "";
  std::vector<Row> rows = {{"WORKER", "INCARNATION", "VOTE", "SCALE", "BASE",
                            "ITERATION", "NORM", "PARTS"}};
  for (const Vote& vote : decision.votes) rows.push_back(VoteRow(vote));
  return "\n" + Table(rows);
}

std::string PartsTable(const Decision& decision) {
  if (decision.parts.empty()) return "";
  std::vector<Row> rows = {{"PART", "APPLIES", "NORM"}};
  for (const PartOutcome& part : decision.parts) {
    rows.push_back(
        {part.name, part.apply ? "yes" : "no", NormText(part.sum_of_squares)});
  }
  return "\n" + Table(rows);
}

}  // namespace

std::string DecidedText(const Decision& decision, const Current& current) {
  return Table({
      {"step:", absl::StrCat(decision.step)},
      {"outcome:", std::string(OutcomeName(decision.outcome))},
      {"reason:", std::string(DecisionReasonName(decision.reason))},
      {"explanation:", decision.explanation},
      {"scale:", ChangeText(decision.scale_before, decision.scale_after)},
      {"marks:", MarksText(decision)},
      {"applied:", absl::StrCat(decision.applied, " of ", decision.attempted)},
      {"next step:", absl::StrCat(current.step)},
  });
}

std::string DecisionLine(const Decision& decision) {
  return OneLine(absl::StrCat(
      TimeText(decision.decide_time), "  step ", decision.step, "  ",
      std::string(OutcomeName(decision.outcome)), "  ", decision.explanation));
}

std::string DecisionsText(const std::vector<Decision>& decisions) {
  std::vector<Row> rows = {{"STEP", "OUTCOME", "REASON", "SCALE", "BASE",
                            "EPOCH", "VOTERS", "DECIDED"}};
  for (const Decision& decision : decisions) {
    rows.push_back(
        {absl::StrCat(decision.step),
         std::string(OutcomeName(decision.outcome)),
         std::string(DecisionReasonName(decision.reason)),
         ChangeText(decision.scale_before, decision.scale_after),
         absl::StrCat(decision.base_before, " -> ", decision.base_after),
         absl::StrCat(decision.epoch_after), VotersText(decision),
         TimeText(decision.decide_time)});
  }
  return Table(rows);
}

std::string StoryText(const Decision& decision, const SessionInfo& session) {
  std::vector<Row> rows = {
      {"step:", absl::StrCat(decision.step)},
      {"outcome:", std::string(OutcomeName(decision.outcome))},
      {"reason:", std::string(DecisionReasonName(decision.reason))},
      {"explanation:", decision.explanation},
      {"decided:", TimeText(decision.decide_time)},
      {"scale:", ChangeText(decision.scale_before, decision.scale_after)},
      {"base:",
       absl::StrCat(
           BaseText(decision.base_before, decision.base_before_session_uid),
           " -> ",
           BaseText(decision.base_after, decision.base_after_session_uid))},
      {"epoch after:", absl::StrCat(decision.epoch_after)},
      {"marks:", MarksText(decision)},
      {"applied:", absl::StrCat(decision.applied, " of ", decision.attempted)},
  };
  if (decision.sum_of_squares) {
    rows.push_back({"norm:", NormText(decision.sum_of_squares)});
  }
  for (Row& row : CauseRows(decision, session)) rows.push_back(std::move(row));
  return Table(rows) + VotesTable(decision) + PartsTable(decision);
}

std::string DecidedJson(const Decision& decision, const Current& current) {
  return Dump({{"decision", DecisionJson(decision)},
               {"current", CurrentJson(current)}});
}

std::string DecisionLineJson(const Decision& decision) {
  return Dump(DecisionJson(decision));
}

std::string DecisionsJson(const std::vector<Decision>& decisions) {
  Json list = Json::array();
  for (const Decision& decision : decisions) {
    list.push_back(DecisionJson(decision));
  }
  return Dump(list);
}

std::string StoryJson(const Decision& decision, const SessionInfo& session) {
  Json json = DecisionJson(decision);
  if (const auto late = LateOverflows(decision, session); !late.empty()) {
    json["late_overflows"] = late;
  }
  return Dump(json);
}

}  // namespace lossscaler::ctl
