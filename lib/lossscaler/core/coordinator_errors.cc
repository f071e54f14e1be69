// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/coordinator_errors.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/ending_text.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

// What a caller waits before it votes in a session that has just resumed.
constexpr absl::Duration kResumeDelay = absl::Milliseconds(1);
// And before it asks whether it is active.
constexpr absl::Duration kPendingDelay = absl::Milliseconds(100);
// And while a person is needed.
constexpr absl::Duration kRestoreDelay = absl::Seconds(1);

// What a list of checkpoints may take: it travels three times in the trailing
// metadata of a call, of which gRPC accepts 8 KiB. Two of them always fit.
constexpr std::size_t kCheckpointsBytes = 1900;

// "'w0', 'w1': Dynamic{scale: 4, ...}, base 3 of session 'x', iteration 7".
std::string Text(const PresentedCheckpoint& presented) {
  const Checkpoint& checkpoint = presented.checkpoint;
  return absl::StrCat(
      NameList(presented.holders), ": ", checkpoint.scaler.DebugString(),
      ", base ", checkpoint.base.step, " of session ",
      Quoted(checkpoint.base.session_uid),
      checkpoint.iteration ? absl::StrCat(", iteration ", *checkpoint.iteration)
                           : "");
}

// What a vote says that the worker's parameters contain.
std::string BaseText(const Vote& vote) {
  if (!vote.base) return "no base that it named";
  if (vote.base_session_uid.empty()) return absl::StrCat("base ", *vote.base);
  return absl::StrCat("base ", *vote.base, " of session ",
                      Quoted(vote.base_session_uid));
}

ErrorMetadata ResyncMetadata(std::int64_t step, const Base& base,
                             const Vote& vote) {
  ErrorMetadata metadata = {{"step", absl::StrCat(step)},
                            {"base", absl::StrCat(base.step)},
                            {"session_uid", base.session_uid}};
  if (vote.base) {
    metadata.emplace_back("base_of_vote", absl::StrCat(*vote.base));
    metadata.emplace_back("session_uid_of_vote", Quoted(vote.base_session_uid));
  }
  return metadata;
}

}  // namespace

absl::Status Fenced(const WorkerRef& worker) {
  return MakeError(
      Reason::kFenced,
      absl::StrCat("worker ", Quoted(worker.worker), " with incarnation ",
                   worker.incarnation,
                   " is no member of the session any more; join again, and "
                   "apply nothing that it was not told to"),
      {{"worker", Quoted(worker.worker)},
       {"incarnation", absl::StrCat(worker.incarnation)}});
}

absl::Status WorkerHeld(const Member& member, absl::Duration lease_left) {
  // A lease that is over is not yet written as such.
  const absl::Duration delay = std::max(lease_left, kPendingDelay);
  return MakeRetryableError(
      Reason::kWorkerHeld,
      absl::StrCat("worker ", Quoted(member.worker), " is held by incarnation ",
                   member.incarnation, ", whose lease runs for another ",
                   absl::FormatDuration(delay),
                   "; show its resume token, wait, or take another name"),
      delay,
      {{"worker", Quoted(member.worker)},
       {"incarnation", absl::StrCat(member.incarnation)},
       {"lease_left", absl::FormatDuration(delay)}});
}

absl::Status StaleAttempt(std::int64_t attempt, std::int64_t current) {
  return MakeError(Reason::kStaleAttempt,
                   absl::StrCat("the worker belongs to attempt ", attempt,
                                " of the job, and the session is at attempt ",
                                current, "; end this process"),
                   {{"attempt", absl::StrCat(attempt)},
                    {"current_attempt", absl::StrCat(current)}});
}

absl::Status TooManyWorkers(std::int64_t workers, std::int64_t limit,
                            absl::Duration first_lease_left) {
  return MakeRetryableError(
      Reason::kTooManyWorkers,
      absl::StrCat("the session has ", workers, " workers, and takes at most ",
                   limit, "; wait until one has left, or its lease is over"),
      std::max(first_lease_left, kPendingDelay),
      {{"workers", absl::StrCat(workers)}, {"limit", absl::StrCat(limit)}});
}

absl::Status StandsElsewhere(std::int64_t step, const Base& base,
                             const Vote& vote) {
  return MakeError(
      Reason::kResync,
      absl::StrCat("the voter's parameters contain ", BaseText(vote),
                   " but step ", step, " builds on base ", base.step,
                   " of session ", Quoted(base.session_uid),
                   "; load parameters that contain it, or leave"),
      ResyncMetadata(step, base, vote));
}

absl::Status AppliedWithout(std::int64_t step, const Base& base,
                            const Vote& vote) {
  return MakeError(Reason::kResync,
                   absl::StrCat("step ", step,
                                " was applied by workers of which this one, "
                                "with ",
                                BaseText(vote),
                                ", is none; load parameters that "
                                "contain base ",
                                base.step, " of session ",
                                Quoted(base.session_uid), ", or leave"),
                   ResyncMetadata(step, base, vote));
}

absl::Status Conflict(std::int64_t step, const Vote& recorded,
                      const Vote& vote) {
  const std::string first(VerdictName(recorded.verdict));
  const std::string second(VerdictName(vote.verdict));
  return MakeError(
      Reason::kVoteConflict,
      absl::StrCat("the worker's vote of ", first, " on step ", step,
                   " is recorded, and this vote of ", second,
                   " says something else; the first one stands: do not apply "
                   "these gradients"),
      {{"step", absl::StrCat(step)},
       {"recorded_verdict", first},
       {"verdict", second}});
}

absl::Status NotActive(std::string_view worker, std::int64_t step) {
  return MakeRetryableError(
      Reason::kNotActive,
      absl::StrCat("worker ", Quoted(worker), " joins with the step after ",
                   step, "; wait until it is active"),
      kPendingDelay,
      {{"worker", Quoted(worker)}, {"step", absl::StrCat(step)}});
}

absl::Status TooFewWorkers(std::int64_t workers, std::int64_t min_workers) {
  return MakeRetryableError(
      Reason::kSessionPaused,
      absl::StrCat("the session needs ", min_workers, " workers and has ",
                   workers, "; wait for the others"),
      kPendingDelay,
      {{"workers", absl::StrCat(workers)},
       {"min_workers", absl::StrCat(min_workers)}});
}

absl::Status Resumed(std::int64_t step) {
  return MakeRetryableError(Reason::kSessionPaused,
                            absl::StrCat("the session has resumed with step ",
                                         step, "; compute it and vote"),
                            kResumeDelay, {{"step", absl::StrCat(step)}});
}

absl::Status NeedsRestore() {
  return MakeRetryableError(
      Reason::kSessionPaused,
      "the session may have lost decisions in a power failure; say where it "
      "stands with RestoreSession, or start the job again, every worker "
      "joining "
      "with a higher attempt and the checkpoint that it has loaded",
      kRestoreDelay);
}

absl::Status CheckpointMismatch(
    const std::vector<PresentedCheckpoint>& presented) {
  std::string list;
  ErrorMetadata metadata = {{"checkpoints", absl::StrCat(presented.size())}};
  std::size_t shown = 0;
  for (const PresentedCheckpoint& one : presented) {
    const std::string text = Text(one);
    if (list.size() + text.size() > kCheckpointsBytes) break;
    absl::StrAppend(&list, shown == 0 ? "" : "; ", text);
    metadata.emplace_back(absl::StrCat("checkpoint_", shown), text);
    ++shown;
  }
  if (presented.size() > shown) {
    absl::StrAppend(&list, "; and ", presented.size() - shown, " more");
  }
  return MakeError(
      Reason::kCheckpointMismatch,
      absl::StrCat("the workers have loaded different checkpoints (", list,
                   "); load one and present it, or leave"),
      metadata);
}

}  // namespace lossscaler
