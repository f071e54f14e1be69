// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GroupDraft: one durable change of a group session while it is being made.
// The arithmetic of rosters, epochs and bases; when to make which change is
// the coordinator's business. Internal to core.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CORE_GROUP_DRAFT_H_
#define LOSSSCALER_CORE_GROUP_DRAFT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/core/ballot.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"

namespace lossscaler {

// Checkpoints that members of a closed session presented, each with the names
// of its holders. More than one: the session cannot open.
struct PresentedCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> holders;
};
std::vector<PresentedCheckpoint> PresentedCheckpoints(const GroupState& group);

// Whether a closed session has what it takes to open: min_workers members, no
// two checkpoints that differ and, if a restore is required, one of every
// member.
bool CanOpen(const GroupState& group);

GroupPhase PhaseOf(const GroupState& group);

class GroupDraft {
 public:
  // `ballot` outlives the draft.
  GroupDraft(const SessionState& before, const Ballot& ballot, absl::Time wall);

  const GroupState& group() const { return *state_.group; }

  // A member expired or is taken over. It stays on the roster of an open step.
  void Lose(std::int64_t incarnation);
  // The live member of that name, if there is one.
  void LoseWorker(std::string_view worker);
  void Leave(std::int64_t incarnation);
  // Registers a member and returns its incarnation: active at once while no
  // step is open, otherwise pending.
  std::int64_t Add(Member member);
  void Present(std::int64_t incarnation, Checkpoint checkpoint);

  // A new start of the whole job: every member is lost, an open step ends, and
  // the session is closed.
  void BeginAttempt(std::int64_t attempt);
  // Ends the open step, and begins the next one if enough members are left.
  void End(const Ending& ending);
  // Opens a closed session; restores the checkpoint that every member
  // presented, if it is not where the session stands. REQUIRES: CanOpen().
  void Open();
  // RestoreSession: ends the step as ABORTED(RESTORED).
  void Restore(const LossScaler& scaler, const std::string& request_id);

  Change Finish() &&;

 private:
  GroupState& group_ref() { return *state_.group; }
  // Moves members that are gone into the record of departures.
  template <typename Gone>
  void Remove(Gone gone);
  // Ends the step as ABORTED(RESTORED).
  void RestoreTo(const LossScaler& scaler, const Base& base,
                 const std::string& request_id, std::string_view why);
  // Takes the decision of the open step and moves the session past it.
  void Decide(const Ending& ending);
  // Begins the next step with who is left, or closes the session.
  void CrossBoundary(const std::vector<std::int64_t>& evicted);

  const SessionState& before_;
  const Ballot& ballot_;
  const absl::Time wall_;
  SessionState state_;
  std::optional<Decision> decision_;
  bool restored_ = false;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_GROUP_DRAFT_H_
