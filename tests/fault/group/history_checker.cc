// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/group/history_checker.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::testing {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using Step = std::int64_t;
using BaseKey = std::pair<std::string, Step>;

class Checker {
 public:
  Checker(const SessionRecord& session, const std::vector<History>& histories)
      : session_(session), histories_(histories) {
    for (const v1::Decision& decision : session.journal) {
      journal_.emplace(decision.step(), &decision);
    }
    for (const History& history : histories) {
      for (const Observation& seen : history.observations) Index(seen);
    }
  }

  std::vector<std::string> Run() {
    CheckJournal();
    CheckScales();
    for (const v1::Decision& decision : session_.journal) {
      CheckVotes(decision);
    }
    CheckSuccession();
    for (const History& history : histories_) CheckHistory(history);
    return std::move(violations_);
  }

 private:
  template <typename... Parts>
  void Require(bool holds, const Parts&... parts) {
    if (!holds) violations_.push_back(absl::StrCat(parts...));
  }

  void Index(const Observation& seen) {
    if (seen.event() == EVENT_VOTING) {
      cast_.emplace(std::pair(seen.worker(), seen.step()), &seen);
    } else if (seen.event() == EVENT_LEAVING || seen.event() == EVENT_JOINED) {
      moves_[seen.worker()].push_back(&seen);
    } else if (seen.event() == EVENT_PRESENTS) {
      presented_.push_back(&seen.checkpoint());
    }
  }

  // The journal's own bases do not name its session.
  BaseKey KeyOf(const std::string& uid, Step step) const {
    if (step == 0) return {"", 0};
    return {uid.empty() ? session_.uid : uid, step};
  }
  BaseKey Before(const v1::Decision& decision) const {
    return KeyOf(decision.base_before_session_uid(), decision.base_before());
  }
  BaseKey After(const v1::Decision& decision) const {
    return KeyOf(decision.base_after_session_uid(), decision.base_after());
  }
  BaseKey KeyOf(const v1::Base& base) const {
    return KeyOf(base.session_uid(), base.step());
  }

  void CheckJournal() {
    Step step = 0;
    Step epoch = 1;
    BaseKey base{"", 0};
    for (const v1::Decision& decision : session_.journal) {
      const std::string at = absl::StrCat("journal, step ", decision.step());
      Require(decision.step() == step + 1, at, ": follows step ", step);
      step = decision.step();
      Require(decision.epoch_after() >= epoch, at, ": the epoch falls");
      epoch = decision.epoch_after();
      Require(Before(decision) == base, at, ": base_before is not the base");
      const bool apply = decision.outcome() == v1::OUTCOME_APPLY;
      if (apply) {
        Require(After(decision) == KeyOf("", step), at,
                ": an applied step is not the base after it");
      } else if (decision.reason() != v1::DECISION_REASON_RESTORED) {
        Require(After(decision) == base, at, ": a skip moves the base");
      }
      base = After(decision);
    }
  }

  // All scalers that may stand at a point: after a restore, which one of those
  // presented it was shows only in what follows.
  void CheckScales() {
    std::vector<LossScaler> possible = {session_.initial};
    for (const v1::Decision& decision : session_.journal) {
      std::vector<LossScaler> next;
      for (LossScaler scaler : possible) {
        if (scaler.scale() != decision.scale_before()) continue;
        if (decision.reason() == v1::DECISION_REASON_RESTORED) {
          next = Presented(decision);
          break;
        }
        if (decision.outcome() == v1::OUTCOME_APPLY) scaler.Update(false);
        if (decision.outcome() == v1::OUTCOME_SKIP_OVERFLOW) {
          scaler.Update(true);
        }
        if (scaler.scale() == decision.scale_after()) next.push_back(scaler);
      }
      if (next.empty()) {
        Require(false, "journal, step ", decision.step(), ": no scaler goes ",
                "from ", decision.scale_before(), " to ",
                decision.scale_after());
        return;
      }
      possible = std::move(next);
    }
  }

  std::vector<LossScaler> Presented(const v1::Decision& decision) const {
    std::vector<LossScaler> scalers;
    for (const v1::Checkpoint* presented : presented_) {
      const absl::StatusOr<Checkpoint> checkpoint =
          wire::CheckpointFromProto(*presented);
      if (checkpoint.ok() &&
          checkpoint->scaler.scale() == decision.scale_after() &&
          std::find(scalers.begin(), scalers.end(), checkpoint->scaler) ==
              scalers.end()) {
        scalers.push_back(checkpoint->scaler);
      }
    }
    return scalers;
  }

  bool WasCast(Step step, const v1::Vote& vote) const {
    const auto [begin, end] = cast_.equal_range(std::pair(vote.worker(), step));
    return std::any_of(begin, end, [&](const auto& entry) {
      const v1::Vote& cast = entry.second->vote();
      // Who rejoins before it has written so casts its vote again.
      if (cast.verdict() != vote.verdict() ||
          entry.second->incarnation() > vote.incarnation()) {
        return false;
      }
      return vote.verdict() == v1::VERDICT_ABSTAIN ||
             (cast.scale_used() == vote.scale_used() &&
              cast.base() == vote.base() &&
              cast.iteration() == vote.iteration());
    });
  }

  // Names that had left, as far as they say, and not come back before `step`.
  std::set<std::string> Absent(Step step) const {
    std::set<std::string> absent;
    for (const auto& [worker, moves] : moves_) {
      std::int64_t left = 0;
      std::int64_t present = 0;
      for (const Observation* move : moves) {
        if (move->event() == EVENT_LEAVING && move->step() <= step) {
          left = std::max<std::int64_t>(left, move->incarnation());
        } else if (move->event() == EVENT_JOINED && move->step() < step) {
          present = std::max<std::int64_t>(present, move->incarnation());
        }
      }
      if (left > 0 && left >= present) absent.insert(worker);
    }
    return absent;
  }

  void CheckVotes(const v1::Decision& decision) {
    const std::string at = absl::StrCat("decision ", decision.step());
    bool overflow = false;
    std::set<Step> iterations;
    std::set<std::string> absent = Absent(decision.step());
    std::set<std::string> voters;
    for (const v1::Vote& vote : decision.votes()) {
      Require(voters.insert(vote.worker()).second, at, ": ", vote.worker(),
              " votes twice");
      absent.erase(vote.worker());
      Require(WasCast(decision.step(), vote), at, ": ", vote.worker(),
              " never cast the vote that counts");
      overflow = overflow || vote.verdict() == v1::VERDICT_OVERFLOW;
      if (vote.verdict() != v1::VERDICT_ABSTAIN) {
        Require(vote.scale_used() == decision.scale_before(), at, ": ",
                vote.worker(), " voted with scale ", vote.scale_used());
        Require(KeyOf(vote.base_session_uid(), vote.base()) == Before(decision),
                at, ": ", vote.worker(), " voted on base ", vote.base());
        if (vote.has_iteration()) iterations.insert(vote.iteration());
      }
      Require(decision.outcome() != v1::OUTCOME_APPLY ||
                  vote.verdict() == v1::VERDICT_FINITE ||
                  vote.verdict() == v1::VERDICT_ABSTAIN,
              at, ": applied against the vote of ", vote.worker());
    }
    Require(!overflow || decision.outcome() == v1::OUTCOME_SKIP_OVERFLOW, at,
            ": a recorded OVERFLOW did not win");
    if (decision.outcome() != v1::OUTCOME_APPLY) return;
    Require(iterations.size() <= 1, at, ": applied different iterations");
    Require(static_cast<std::int64_t>(voters.size() + absent.size()) >=
                session_.config.min_workers,
            at, ": applied with ", voters.size(), " votes");
  }

  // By name: the step at which each incarnation joined bounds its predecessors.
  void CheckSuccession() {
    for (const v1::Decision& decision : session_.journal) {
      for (const v1::Vote& vote : decision.votes()) {
        for (const Observation* move : moves_[vote.worker()]) {
          if (move->event() != EVENT_JOINED) continue;
          Require(move->incarnation() <= vote.incarnation() ||
                      decision.step() <= move->step(),
                  "decision ", decision.step(), ": counts incarnation ",
                  vote.incarnation(), " of ", vote.worker(), ", which ",
                  move->incarnation(), " had replaced at step ", move->step());
        }
      }
    }
  }

  void CheckHistory(const History& history) {
    Step last_decided = 0;
    Step epoch = 0;
    BaseKey base{"", 0};
    for (const Observation& seen : history.observations) {
      const std::string at = absl::StrCat(history.name, ", step ", seen.step());
      if (seen.event() == EVENT_JOINED) {
        Require(seen.epoch() >= epoch, at, ": the epoch falls");
        epoch = seen.epoch();
      }
      if (seen.has_model()) CheckModel(at, seen.model());
      if (seen.event() == EVENT_DECIDED) {
        Require(seen.step() > last_decided, at, ": seen after step ",
                last_decided);
        last_decided = seen.step();
        CheckSeen(at, seen.decision());
      } else if (seen.event() == EVENT_APPLIED) {
        CheckApplied(at, base, seen);
      } else if (seen.has_model() && seen.event() != EVENT_STARTED &&
                 seen.event() != EVENT_LOADED) {
        Require(KeyOf(seen.model().base()) == base, at,
                ": the base moved by itself");
      }
      if (seen.has_model()) base = KeyOf(seen.model().base());
    }
  }

  void CheckSeen(const std::string& at, const v1::Decision& decision) {
    const auto written = journal_.find(decision.step());
    if (written == journal_.end()) {
      Require(false, at, ": saw a decision that the journal does not have");
      return;
    }
    // Workers are told it without the votes.
    v1::Decision told = *written->second;
    told.clear_votes();
    Require(MessageDifferencer::Equals(decision, told), at,
            ": saw another decision than the journal's: ",
            decision.ShortDebugString(), " instead of ",
            told.ShortDebugString());
  }

  void CheckApplied(const std::string& at, const BaseKey& base,
                    const Observation& seen) {
    const auto written = journal_.find(seen.step());
    if (written == journal_.end()) {
      Require(false, at, ": applied a step that is not decided");
      return;
    }
    const v1::Decision& decision = *written->second;
    Require(decision.outcome() == v1::OUTCOME_APPLY, at,
            ": applied a step that is to be skipped");
    Require(std::any_of(decision.votes().begin(), decision.votes().end(),
                        [&](const v1::Vote& vote) {
                          return vote.worker() == seen.worker();
                        }),
            at, ": applied without its vote");
    Require(base == Before(decision), at,
            ": applied to parameters of another base");
    Require(KeyOf(seen.model().base()) == After(decision), at,
            ": the applied base is not the decision's");
  }

  void CheckModel(const std::string& at, const Model& model) {
    const auto [known, fresh] =
        digests_.emplace(KeyOf(model.base()), model.digest());
    Require(known->second == model.digest(), at,
            ": other parameters than a peer's of the same base");
  }

  const SessionRecord& session_;
  const std::vector<History>& histories_;
  std::map<Step, const v1::Decision*> journal_;
  // By worker and step.
  std::multimap<std::pair<std::string, Step>, const Observation*> cast_;
  // Joins and leaves by worker.
  std::map<std::string, std::vector<const Observation*>> moves_;
  std::vector<const v1::Checkpoint*> presented_;
  std::map<BaseKey, std::uint64_t> digests_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> Violations(const SessionRecord& session,
                                    const std::vector<History>& histories) {
  return Checker(session, histories).Run();
}

}  // namespace lossscaler::testing
