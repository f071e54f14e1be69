// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/participation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "unit/server/sessions/group_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;

// A client whose every move the test makes.
class Line : public Participation::Transport {
 public:
  explicit Line(Participants* participants)
      : stream_(std::make_shared<Participation>(participants, this)) {
    stream_->Start();
  }
  // The client goes away, or what waits in the session would keep the stream.
  ~Line() override {
    stream_->Abandon();
    if (writing_) Take(/*ok=*/false);
  }

  void StartRead() override {
    EXPECT_FALSE(reading_ || ended_);
    reading_ = true;
  }
  void StartWrite(const Participation::Answer& answer) override {
    EXPECT_FALSE(writing_ || ended_);
    writing_ = true;
    written_.push_back(answer);
  }
  void Finish(const absl::Status& status) override {
    EXPECT_FALSE(writing_ || ended_);
    ended_ = status;
  }

  Participation& Message() {
    EXPECT_TRUE(reading_);
    reading_ = false;
    return *stream_;
  }
  // The client takes one answer, or is gone.
  void Take(bool ok = true) {
    ASSERT_TRUE(writing_);
    writing_ = false;
    stream_->Written(ok);
  }
  void TakeAll() {
    while (writing_) Take();
  }

  bool reading() const { return reading_; }
  bool writing() const { return writing_; }
  const std::vector<Participation::Answer>& written() const { return written_; }
  const std::optional<absl::Status>& ended() const { return ended_; }
  Participation& stream() { return *stream_; }

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const Participation::Answer& answer : written_) {
      if (const T* const one = std::get_if<T>(&answer)) all.push_back(*one);
    }
    return all;
  }

 private:
  bool reading_ = false;
  bool writing_ = false;
  std::vector<Participation::Answer> written_;
  std::optional<absl::Status> ended_;
  const std::shared_ptr<Participation> stream_;
};

class ParticipationTest : public GroupFixture {
 protected:
  using Opened = Participation::Opened;
  using Beat = Participation::Beat;
  using Voted = Participation::Voted;
  using Changed = Participation::Changed;

  // A stream that has been opened, and whose answer has been taken.
  std::unique_ptr<Line> Open(const WorkerRef& worker) {
    auto line = std::make_unique<Line>(&participants_);
    line->Message().TakeOpen(session_, worker);
    line->TakeAll();
    return line;
  }
  void Vote(Line* line, std::int64_t sequence, Verdict verdict) {
    line->Message().TakeVote(sequence, Step(), Suitable(verdict));
  }

  Participants participants_;
};

TEST_F(ParticipationTest, OpensHeartbeatsAndVotes) {
  const std::vector<WorkerRef> workers = Group(2);
  const std::unique_ptr<Line> a = Open(workers[0]);
  const std::unique_ptr<Line> b = Open(workers[1]);
  ASSERT_EQ(a->All<Opened>().size(), 1u);
  EXPECT_EQ(a->All<Opened>()[0].membership.state, MemberState::kActive);
  EXPECT_EQ(participants_.size(), 2);

  a->Message().TakeHeartbeat(41, std::nullopt);
  a->TakeAll();
  ASSERT_EQ(a->All<Beat>().size(), 1u);
  EXPECT_EQ(a->All<Beat>()[0].sequence, 41);
  EXPECT_THAT(a->All<Beat>()[0].error, IsOk());

  Vote(a.get(), 42, Verdict::kFinite);
  EXPECT_TRUE(a->All<Voted>().empty());
  // A vote that waits keeps nobody from sending heartbeats.
  EXPECT_TRUE(a->reading());
  Vote(b.get(), 7, Verdict::kFinite);
  a->TakeAll();
  b->TakeAll();
  ASSERT_EQ(a->All<Voted>().size(), 1u);
  ASSERT_EQ(b->All<Voted>().size(), 1u);
  EXPECT_EQ(a->All<Voted>()[0].sequence, 42);
  EXPECT_EQ(b->All<Voted>()[0].sequence, 7);
  EXPECT_EQ(a->All<Voted>()[0].answer->decision,
            b->All<Voted>()[0].answer->decision);
  EXPECT_EQ(a->All<Voted>()[0].answer->current.step, 2);
}

TEST_F(ParticipationTest, EveryMessageRenewsTheLease) {
  const std::vector<WorkerRef> workers = Group(1);
  Pass(kTtl - absl::Seconds(1));
  const std::unique_ptr<Line> line = Open(workers[0]);
  Pass(kTtl - absl::Seconds(1));
  line->Message().TakeHeartbeat(1, std::nullopt);
  line->TakeAll();
  Pass(kTtl - absl::Seconds(1));
  EXPECT_FALSE(line->ended());
  Pass(absl::Seconds(2));
  ASSERT_TRUE(line->ended());
  EXPECT_THAT(*line->ended(), IsError(Reason::kFenced));
  EXPECT_EQ(participants_.size(), 0);
}

TEST_F(ParticipationTest, AVoteThatFollowsAWaitingOneTakesItsPlace) {
  const std::vector<WorkerRef> workers = Group(2);
  const std::unique_ptr<Line> line = Open(workers[0]);
  Vote(line.get(), 1, Verdict::kFinite);
  Vote(line.get(), 2, Verdict::kFinite);
  line->TakeAll();
  ASSERT_EQ(line->All<Voted>().size(), 1u);
  EXPECT_EQ(line->All<Voted>()[0].sequence, 1);
  EXPECT_THAT(line->All<Voted>()[0].answer,
              HasCode(absl::StatusCode::kCancelled));
  Answers other;
  Cast(workers[1], Verdict::kFinite, &other);
  line->TakeAll();
  ASSERT_EQ(line->All<Voted>().size(), 2u);
  EXPECT_EQ(line->All<Voted>()[1].sequence, 2);
  EXPECT_EQ(line->All<Voted>()[1].answer->decision, other.at(0)->decision);
}

TEST_F(ParticipationTest, AClientThatTakesNoAnswersIsReadNoFurther) {
  const std::vector<WorkerRef> workers = Group(1);
  Line line(&participants_);
  line.Message().TakeOpen(session_, workers[0]);
  int sent = 0;
  for (; line.reading() && sent < 1000; ++sent) {
    line.Message().TakeHeartbeat(sent, std::nullopt);
  }
  EXPECT_EQ(sent, Participation::kMaxOwed);
  // `opened`, then the first heartbeat.
  line.Take();
  EXPECT_FALSE(line.reading());
  line.Take();
  EXPECT_TRUE(line.reading());
  line.TakeAll();
  EXPECT_EQ(line.All<Beat>().size(), std::size_t{Participation::kMaxOwed});
}

TEST_F(ParticipationTest, OfUnaskedNewsOnlyTheLatestWaits) {
  GroupConfig config = GroupOf(4);
  config.min_workers = 1;
  Create(config);
  const WorkerRef worker = MustJoin("w0");
  Line line(&participants_);
  line.Message().TakeOpen(session_, worker);
  // Each decision lets another worker in, which is a new epoch.
  for (const std::string name : {"w1", "w2"}) {
    MustJoin(name);
    Answers overflow;
    Cast(worker, Verdict::kOverflow, &overflow);
    ASSERT_EQ(overflow.size(), 1u);
  }
  line.TakeAll();
  ASSERT_EQ(line.All<Changed>().size(), 1u);
  EXPECT_EQ(line.All<Changed>()[0].membership.current.epoch,
            session_->Snapshot()->state.epoch);
}

TEST_F(ParticipationTest, AnotherStreamOfTheIncarnationEndsTheFirst) {
  const std::vector<WorkerRef> workers = Group(2);
  const std::unique_ptr<Line> first = Open(workers[0]);
  Vote(first.get(), 1, Verdict::kFinite);
  const std::unique_ptr<Line> second = Open(workers[0]);
  ASSERT_TRUE(first->ended());
  EXPECT_THAT(*first->ended(), HasCode(absl::StatusCode::kCancelled));
  EXPECT_EQ(participants_.size(), 1);
  // The vote has stayed.
  Answers other;
  Cast(workers[1], Verdict::kFinite, &other);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other.at(0)->decision.outcome, Outcome::kApply);
  EXPECT_FALSE(second->ended());
}

TEST_F(ParticipationTest, ATakeoverEndsTheStreamOfTheOldIncarnation) {
  Create(GroupOf(2));
  const absl::StatusOr<JoinAnswer> old =
      Join({.worker = "w0", .request_id = "a"});
  MustJoin("w1");
  const std::unique_ptr<Line> line = Open({"w0", old->incarnation});
  ASSERT_THAT(Join({.worker = "w0",
                    .request_id = "b",
                    .resume_token = old->resume_token}),
              IsOk());
  line->TakeAll();
  ASSERT_TRUE(line->ended());
  EXPECT_THAT(*line->ended(), IsError(Reason::kFenced));
}

TEST_F(ParticipationTest, ADrainAnswersTheWaitingVoteAndThenEndsTheStream) {
  const std::vector<WorkerRef> workers = Group(2);
  const std::unique_ptr<Line> line = Open(workers[0]);
  Vote(line.get(), 5, Verdict::kFinite);
  session_->Drain(
      MakeRetryableError(Reason::kDraining, "the server ends", kRetryDelay));
  ASSERT_EQ(line->All<Voted>().size(), 1u);
  EXPECT_THAT(line->All<Voted>()[0].answer, IsError(Reason::kDraining));
  EXPECT_FALSE(line->ended());
  line->TakeAll();
  ASSERT_TRUE(line->ended());
  EXPECT_THAT(*line->ended(), IsError(Reason::kDraining));
}

TEST_F(ParticipationTest, ADeletionEndsTheStream) {
  const std::vector<WorkerRef> workers = Group(1);
  const std::unique_ptr<Line> line = Open(workers[0]);
  session_->Delete("", [](const auto&) {});
  line->TakeAll();
  ASSERT_TRUE(line->ended());
  EXPECT_THAT(*line->ended(), IsError(Reason::kSessionNotFound));
}

TEST_F(ParticipationTest, HalfClosedItStillAnswersTheVote) {
  const std::vector<WorkerRef> workers = Group(2);
  const std::unique_ptr<Line> line = Open(workers[0]);
  Vote(line.get(), 5, Verdict::kFinite);
  line->Message().TakeEnd();
  EXPECT_FALSE(line->ended());
  Answers other;
  Cast(workers[1], Verdict::kFinite, &other);
  line->TakeAll();
  EXPECT_EQ(line->All<Voted>().size(), 1u);
  ASSERT_TRUE(line->ended());
  EXPECT_THAT(*line->ended(), IsOk());
  EXPECT_EQ(participants_.size(), 0);
}

TEST_F(ParticipationTest, AClientThatHasGoneLeavesItsVote) {
  const std::vector<WorkerRef> workers = Group(2);
  const std::unique_ptr<Line> line = Open(workers[0]);
  Vote(line.get(), 5, Verdict::kFinite);
  line->stream().Abandon();
  ASSERT_TRUE(line->ended());
  EXPECT_THAT(*line->ended(), HasCode(absl::StatusCode::kCancelled));
  EXPECT_EQ(participants_.size(), 0);
  EXPECT_TRUE(Look().members[0].vote.has_value());
}

TEST_F(ParticipationTest, ARefusedVoteConcernsOnlyItself) {
  const std::vector<WorkerRef> workers = Group(1);
  const std::unique_ptr<Line> line = Open(workers[0]);
  line->Message().TakeVote(1, std::nullopt, Suitable(Verdict::kFinite));
  line->Message().TakeVote(2, 9, Suitable(Verdict::kFinite));
  line->Message().TakeVote(3, 1, absl::InvalidArgumentError("unreadable"));
  line->TakeAll();
  const std::vector<Voted> answers = line->All<Voted>();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_THAT(answers[0].answer, IsError(Reason::kStepRequired));
  EXPECT_THAT(answers[1].answer, IsError(Reason::kStepAhead));
  EXPECT_THAT(answers[2].answer, HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_FALSE(line->ended());
  Vote(line.get(), 4, Verdict::kFinite);
  line->TakeAll();
  EXPECT_THAT(line->All<Voted>()[3].answer, IsOk());
}

TEST_F(ParticipationTest, ARefusedCheckpointRenewsTheLeaseAllTheSame) {
  const std::vector<WorkerRef> workers = Group(1);
  const std::unique_ptr<Line> line = Open(workers[0]);
  Pass(kTtl - absl::Seconds(1));
  line->Message().TakeHeartbeat(
      8, MakeError(Reason::kInvalidScaler, "no such scaler"));
  line->TakeAll();
  ASSERT_EQ(line->All<Beat>().size(), 1u);
  EXPECT_EQ(line->All<Beat>()[0].sequence, 8);
  EXPECT_THAT(line->All<Beat>()[0].error, IsError(Reason::kInvalidScaler));
  Pass(kTtl - absl::Seconds(1));
  EXPECT_FALSE(line->ended());
}

TEST_F(ParticipationTest, MessagesOutOfOrderEndTheStream) {
  const std::vector<WorkerRef> workers = Group(1);
  Line early(&participants_);
  early.Message().TakeHeartbeat(1, std::nullopt);
  EXPECT_THAT(*early.ended(), IsError(Reason::kChunkBeforeOpen));
  Line closed(&participants_);
  closed.Message().TakeEnd();
  EXPECT_THAT(*closed.ended(), IsError(Reason::kChunkBeforeOpen));
  const std::unique_ptr<Line> twice = Open(workers[0]);
  twice->Message().TakeOpen(session_, workers[0]);
  EXPECT_THAT(*twice->ended(), IsError(Reason::kOpenedTwice));
  const std::unique_ptr<Line> empty = Open(workers[0]);
  empty->Message().TakeEmpty();
  EXPECT_THAT(*empty->ended(), IsError(Reason::kEmptyMessage));
  Line stranger(&participants_);
  stranger.Message().TakeOpen(session_, WorkerRef{"w0", 99});
  EXPECT_THAT(*stranger.ended(), IsError(Reason::kFenced));
  EXPECT_EQ(participants_.size(), 0);
}

TEST_F(ParticipationTest, IdlenessIsBeingUnopenedOrNotTakingAnAnswer) {
  const std::vector<WorkerRef> workers = Group(1);
  using Idleness = Participation::Idleness;
  Line line(&participants_);
  EXPECT_EQ(line.stream().LookForIdleness(), Idleness::kNotOpened);
  line.Message().TakeOpen(session_, workers[0]);
  // The first look may come right after the answer has left.
  EXPECT_EQ(line.stream().LookForIdleness(), Idleness::kNone);
  EXPECT_EQ(line.stream().LookForIdleness(), Idleness::kNotTaken);
  line.TakeAll();
  EXPECT_EQ(line.stream().LookForIdleness(), Idleness::kNone);
  EXPECT_EQ(line.stream().LookForIdleness(), Idleness::kNone);
}

TEST_F(ParticipationTest, TheDrainEndsOnlyStreamsThatHaveNotBeenOpened) {
  const std::vector<WorkerRef> workers = Group(1);
  Line silent(&participants_);
  const std::unique_ptr<Line> open = Open(workers[0]);
  const absl::Status error = MakeError(Reason::kDraining, "over");
  participants_.Drain(error);
  EXPECT_EQ(silent.ended(), error);
  EXPECT_EQ(open->ended(), std::nullopt);

  // One that the gate let in just before it closed.
  Line late(&participants_);
  EXPECT_EQ(late.ended(), error);
  EXPECT_FALSE(late.reading());
}

TEST_F(ParticipationTest, StreamsThatAreNotOpenedHaveALimitOfTheirOwn) {
  const std::vector<WorkerRef> workers = Group(1);
  Participants two(
      Limits{.max_unopened_streams = 2, .retry_delay = absl::Seconds(3)});
  Line first(&two);
  Line second(&two);
  Line third(&two);
  ASSERT_TRUE(third.ended());
  EXPECT_THAT(*third.ended(), IsError(Reason::kTooManyStreams));
  EXPECT_EQ(RetryDelayOf(*third.ended()), absl::Seconds(3));
  EXPECT_EQ(MetadataOf(*third.ended()), (std::map<std::string, std::string>{
                                            {"streams", "2"}, {"limit", "2"}}));
  // One that is opened takes no such place, nor does one that has gone.
  first.Message().TakeOpen(session_, workers[0]);
  second.stream().Abandon();
  Line fourth(&two);
  Line fifth(&two);
  EXPECT_EQ(fourth.ended(), std::nullopt);
  EXPECT_EQ(fifth.ended(), std::nullopt);
}

}  // namespace
}  // namespace lossscaler::server
