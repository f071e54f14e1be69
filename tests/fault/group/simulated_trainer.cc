// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/group/simulated_trainer.h"

#include <signal.h>

#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "fault/group/mixed.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "testing/poll_until.h"

namespace lossscaler::testing {
namespace {

// How long a peer may take to put the step on the shelf that it has just been
// told to apply, and how often in a row it may take longer.
constexpr std::chrono::seconds kSearch(2);
constexpr int kVainSearches = 5;

constexpr absl::Duration kPatience = absl::Minutes(5);

std::shared_ptr<Connection> ConnectWorker(const std::string& address) {
  ClientOptions options;
  options.address = address;
  options.unavailable_budget = kPatience;
  return MakeConnection(options);
}

std::uint64_t NumberOf(const std::string& name) {
  std::uint64_t number = 0;
  for (const char letter : name) {
    number = Mixed(number, static_cast<unsigned char>(letter));
  }
  return number;
}

Base BaseOf(const Model& model) {
  return {.session_uid = model.base().session_uid(),
          .step = model.base().step()};
}

// What a RESYNC says is needed.
Base NeededBase(const absl::Status& resync) {
  const std::map<std::string, std::string> metadata = MetadataOf(resync);
  Base base;
  const auto step = metadata.find("base");
  const auto uid = metadata.find("session_uid");
  if (step != metadata.end()) {
    (void)absl::SimpleAtoi(step->second, &base.step);
  }
  if (uid != metadata.end()) base.session_uid = uid->second;
  return base;
}

}  // namespace

SimulatedTrainer::SimulatedTrainer(const TrainerOptions& options,
                                   const ModelShelf& shelf,
                                   HistoryWriter* history)
    : options_(options),
      shelf_(shelf),
      history_(history),
      connection_(ConnectWorker(options.address)) {}

TrainerEnd SimulatedTrainer::Run(const volatile int& leave) {
  absl::Status status = Join();
  while (status.ok() && leave == 0 &&
         (options_.until_step == 0 || last_step_ < options_.until_step)) {
    status = Step();
  }
  if (status.ok()) {
    history_->Write(Seen(EVENT_LEAVING));
    status = session_->Leave();
    if (status.ok()) return TrainerEnd::kLeft;
  }
  Refused(status);
  const std::optional<Reason> reason = ReasonOf(status);
  if (reason == Reason::kStaleAttempt) return TrainerEnd::kReplaced;
  if (reason == Reason::kResync || reason == Reason::kCheckpointMismatch) {
    return TrainerEnd::kNeedsAttempt;
  }
  return TrainerEnd::kBroken;
}

absl::Status SimulatedTrainer::Join() {
  const absl::StatusOr<SessionInfo> info =
      connection_->GetSession({.name = options_.session, .uid = ""});
  if (!info.ok()) return info.status();
  uid_ = info->uid;

  WorkerOptions options;
  options.worker = options_.worker;
  options.attempt = options_.attempt;
  options.unavailable_budget = kPatience;
  if (options_.resume) options.resume_token = shelf_.Token(options_.worker);
  v1::Checkpoint loaded;
  if (options_.from_checkpoint == 0) {
    options.from_the_start = true;
    wire::ToProto(Checkpoint{.scaler = info->config}, &loaded);
  } else if (options_.from_checkpoint) {
    std::optional<Model> saved =
        shelf_.Checkpoint(options_.worker, *options_.from_checkpoint);
    if (!saved) return absl::NotFoundError("there is no such checkpoint");
    options.checkpoint = std::move(*saved->mutable_checkpoint());
    saved->clear_checkpoint();
    model_ = *std::move(saved);
    const absl::StatusOr<WorkerCheckpoint> read =
        WorkerCheckpointFromBytes(options.checkpoint);
    if (!read.ok()) return read.status();
    wire::ToProto(read->checkpoint, &loaded);
  }
  history_->Write(Seen(EVENT_STARTED));
  if (options_.from_checkpoint) {
    Observation presents = Seen(EVENT_PRESENTS);
    *presents.mutable_checkpoint() = loaded;
    history_->Write(presents);
    shelf_.Put(options_.worker, model_);
  }

  absl::StatusOr<WorkerSession> session =
      WorkerSession::Join(connection_, options_.session, options);
  if (!session.ok()) return session.status();
  session_.emplace(*std::move(session));
  Joined();
  if (!model_.has_iteration()) model_.set_iteration(1);
  session_->set_iteration(model_.iteration());
  if (options_.from_checkpoint) return absl::OkStatus();
  const Current current = session_->membership().current;
  const Base base = {.session_uid = current.base_session_uid.empty()
                                        ? uid_
                                        : current.base_session_uid,
                     .step = current.base};
  if (!(base == BaseOf(model_))) wanted_ = base;
  return absl::OkStatus();
}

absl::Status SimulatedTrainer::Rejoin() {
  for (;;) {
    const absl::Status status = session_->Rejoin();
    if (status.ok()) {
      Joined();
      return status;
    }
    if (!absl::IsUnavailable(status)) return status;
    Refused(status);
  }
}

void SimulatedTrainer::Joined() {
  const Current current = session_->membership().current;
  Observation joined = Seen(EVENT_JOINED);
  joined.set_step(current.step);
  joined.set_epoch(current.epoch);
  history_->Write(joined);
  shelf_.PutToken(options_.worker, session_->resume_token());
}

absl::Status SimulatedTrainer::Step() {
  if (wanted_) {
    if (absl::Status status = CatchUp(); !status.ok()) return status;
  }
  absl::StatusOr<WorkerStep> step = session_->BeginStep();
  if (!step.ok()) {
    Refused(step.status());
    if (ReasonOf(step.status()) == Reason::kFenced) return Rejoin();
    return absl::IsUnavailable(step.status()) ? absl::OkStatus()
                                              : step.status();
  }
  absl::SleepFor(options_.compute);
  Verdict verdict = Draw(step->number());
  if (const absl::Status in_sync = step->CheckInSync(); !in_sync.ok()) {
    wanted_ = NeededBase(in_sync);
    verdict = Verdict::kAbstain;
  }
  if (step->number() == options_.stop_before) raise(SIGSTOP);

  NoteVote(*step, verdict);
  return Vote(&*step, verdict);
}

void SimulatedTrainer::NoteVote(const WorkerStep& step, Verdict verdict) {
  Observation voting = Seen(EVENT_VOTING);
  voting.set_step(step.number());
  lossscaler::Vote vote;
  vote.worker = options_.worker;
  vote.verdict = verdict;
  if (verdict != Verdict::kAbstain) {
    vote.scale_used = step.scale();
    vote.iteration = step.iteration();
    vote.base = model_.base().step();
    vote.base_session_uid = model_.base().session_uid();
  }
  wire::ToProto(vote, voting.mutable_vote());
  history_->Write(voting);
}

Verdict SimulatedTrainer::Draw(std::int64_t step) const {
  const std::uint64_t draw =
      Mixed(Mixed(options_.seed, NumberOf(options_.worker)),
            static_cast<std::uint64_t>(step)) %
      2000;
  const auto unclean = static_cast<std::uint64_t>(options_.unclean_permille);
  // In parts of 2,000, so that SKIP and ABSTAIN have half of a permille each.
  if (draw >= 2 * 2 * unclean) return Verdict::kFinite;
  if (draw < 2 * unclean) return Verdict::kOverflow;
  return draw < 3 * unclean ? Verdict::kSkip : Verdict::kAbstain;
}

absl::Status SimulatedTrainer::Vote(WorkerStep* step, Verdict verdict) {
  if (verdict == Verdict::kFinite || verdict == Verdict::kOverflow) {
    UnscaleVerdict found;
    found.element_count = 1;
    if (verdict == Verdict::kOverflow) found.nan_count = 1;
    step->AddVerdict(found);
  }
  for (;;) {
    // Asked again it is the same vote.
    absl::StatusOr<StepResult> result = verdict == Verdict::kSkip ? step->Skip()
                                        : verdict == Verdict::kAbstain
                                            ? step->Abstain()
                                            : step->Update();
    if (result.ok()) {
      Follow(&*result);
      return absl::OkStatus();
    }
    const absl::Status& why = result.status();
    Refused(why);
    switch (ReasonOf(why).value_or(Reason::kInvalidField)) {
      case Reason::kFenced:
        if (absl::Status status = Rejoin(); !status.ok()) return status;
        break;
      case Reason::kResync:
        wanted_ = NeededBase(why);
        [[fallthrough]];
      case Reason::kScaleMismatch:
      case Reason::kStepAhead:
      case Reason::kStepForgotten:
      case Reason::kVoteConflict:
        // So does the step, at its end, if it is still open.
        NoteVote(*step, Verdict::kAbstain);
        return absl::OkStatus();
      default:
        if (!absl::IsUnavailable(why)) return why;
    }
  }
}

void SimulatedTrainer::Follow(StepResult* result) {
  const Decision& decision = result->decision();
  last_step_ = decision.step;
  Observation decided = Seen(EVENT_DECIDED);
  decided.set_step(decision.step);
  wire::ToProto(decision, decided.mutable_decision());
  history_->Write(decided);

  const Base after = {.session_uid = decision.base_after_session_uid.empty()
                                         ? uid_
                                         : decision.base_after_session_uid,
                      .step = decision.base_after};
  model_.set_iteration(session_->iteration().value_or(1));
  if (std::optional<ApplyPermit> permit = result->TakePermit()) {
    model_ = Trained(model_, after);
    permit->Done();
    Observation applied = Seen(EVENT_APPLIED);
    applied.set_step(decision.step);
    history_->Write(applied);
  } else if (decision.reason == DecisionReason::kRestored && !wanted_ &&
             !(BaseOf(model_) == after)) {
    // A restored scaler; the parameters are those of before, by another name.
    Model renamed = model_;
    renamed.mutable_base()->set_session_uid(after.session_uid);
    renamed.mutable_base()->set_step(after.step);
    TakeModel(renamed);
  }
  shelf_.Put(options_.worker, model_);
  if (BaseOf(model_) == after) {
    KeepCheckpoint(decision.step);
  } else {
    wanted_ = after;
  }
}

void SimulatedTrainer::TakeModel(const Model& model) {
  model_ = model;
  session_->set_base(BaseOf(model_));
  session_->set_iteration(model_.iteration());
  history_->Write(Seen(EVENT_LOADED));
}

void SimulatedTrainer::KeepCheckpoint(std::int64_t step) {
  if (options_.checkpoint_every == 0 || step % options_.checkpoint_every != 0) {
    return;
  }
  absl::StatusOr<std::string> bytes = session_->Checkpoint();
  if (!bytes.ok()) {
    Refused(bytes.status());
    return;
  }
  Model saved = model_;
  saved.set_checkpoint(*std::move(bytes));
  shelf_.PutCheckpoint(options_.worker, step, saved);
}

absl::Status SimulatedTrainer::CatchUp() {
  std::optional<Model> found;
  PollUntil(kSearch, [&] {
    found = shelf_.Find(*wanted_);
    return found.has_value();
  });
  if (found) {
    TakeModel(*found);
    wanted_.reset();
    vain_searches_ = 0;
    return absl::OkStatus();
  }
  if (++vain_searches_ < kVainSearches) return absl::OkStatus();
  return MakeError(Reason::kResync, "no peer has the model that is needed");
}

Observation SimulatedTrainer::Seen(Event event) const {
  Observation seen;
  seen.set_event(event);
  seen.set_worker(options_.worker);
  seen.set_attempt(options_.attempt);
  if (session_) {
    seen.set_incarnation(session_->worker().incarnation);
    seen.set_step(session_->membership().current.step);
  }
  *seen.mutable_model() = model_;
  return seen;
}

void SimulatedTrainer::Refused(const absl::Status& why) {
  Observation refused = Seen(EVENT_REFUSED);
  refused.set_reason(ReasonNameOf(why));
  refused.set_text(why.ToString());
  history_->Write(refused);
}

}  // namespace lossscaler::testing
