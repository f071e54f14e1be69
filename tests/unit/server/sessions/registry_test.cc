// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/registry.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "store/memory_store.h"
#include "testing/caught.h"
#include "testing/faulty_store.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::Caught;
using ::lossscaler::testing::FaultyStore;
using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Ne;
using ::testing::Optional;
using ::testing::Pair;

using Fault = FaultyStore::Fault;
using Created = absl::StatusOr<Registry::Created>;

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() { Restart(); }

  void Restart() {
    registry_ =
        std::make_unique<Registry>(&store_, limits_, Registry::World{.now = [] {
          return absl::FromUnixSeconds(1'800'000'000);
        }});
    EXPECT_THAT(registry_->Load(), IsOk());
  }

  static Registry::CreateRequest Request(std::string name,
                                         std::string request_id = "") {
    return {.name = std::move(name),
            .config = GoldenScaler(),
            .request_id = std::move(request_id)};
  }

  Created Create(const Registry::CreateRequest& request) {
    Caught<Created> caught;
    registry_->Create(request, caught.Callback());
    EXPECT_THAT(caught.size(), Eq(1u));
    return caught.at(0);
  }
  std::string MustCreate(const std::string& name) {
    const Created created = Create(Request(name));
    EXPECT_THAT(created, IsOk());
    return created->snapshot.state.uid;
  }

  absl::Status Delete(const std::string& name, const std::string& uid,
                      const std::string& request_id) {
    Caught<absl::Status> caught;
    registry_->Delete(name, uid, request_id, caught.Callback());
    EXPECT_THAT(caught.size(), Eq(1u));
    return caught.at(0);
  }

  std::vector<std::string> Names(std::string_view prefix,
                                 std::string_view after, int limit) {
    std::vector<std::string> names;
    for (const auto& session : registry_->List(prefix, after, limit)) {
      names.push_back(session->name());
    }
    return names;
  }

  Limits limits_{.max_sessions = 4, .retry_delay = absl::Seconds(3)};
  MemoryStore memory_;
  FaultyStore store_{&memory_};
  std::unique_ptr<Registry> registry_;
};

// ---- Create -------------------------------------------------------------

TEST_F(RegistryTest, CreatesASession) {
  const Created created = Create(Request("team/run", "c1"));
  ASSERT_THAT(created, IsOk());
  EXPECT_TRUE(created->created);
  EXPECT_THAT(created->session->name(), Eq("team/run"));
  EXPECT_THAT(created->snapshot.state.config, Eq(GoldenScaler()));
  EXPECT_THAT(created->snapshot.state.create_time,
              Eq(absl::FromUnixSeconds(1'800'000'000)));
  EXPECT_THAT(created->snapshot.state.uid.size(), Eq(32u));
  EXPECT_THAT(registry_->size(), Eq(1));
  EXPECT_THAT(registry_->Find("team/run", ""), IsOk());
}

TEST_F(RegistryTest, EverySessionHasAUidOfItsOwn) {
  EXPECT_THAT(MustCreate("a"), Ne(MustCreate("b")));
}

TEST_F(RegistryTest, RefusesBadNamesAndRequestIds) {
  EXPECT_THAT(Create(Request("no spaces")),
              IsError(Reason::kInvalidSessionName));
  EXPECT_THAT(Create(Request("a", std::string(65, 'x'))),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(Delete("", "", ""), IsError(Reason::kInvalidSessionName));
  EXPECT_THAT(Delete("a", "", "no spaces"), IsError(Reason::kInvalidField));
  EXPECT_THAT(registry_->Find("/", ""), IsError(Reason::kInvalidSessionName));
  EXPECT_THAT(registry_->size(), Eq(0));
}

TEST_F(RegistryTest, ASecondCreationFindsTheName) {
  MustCreate("a");
  EXPECT_THAT(Create(Request("a")), IsError(Reason::kSessionExists));
  // An empty request id is nobody's.
  EXPECT_THAT(Create(Request("a", "other")), IsError(Reason::kSessionExists));
}

TEST_F(RegistryTest, ARepeatedCreationGetsTheSessionAgain) {
  const Created first = Create(Request("a", "c1"));
  const Created again = Create(Request("a", "c1"));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->created);
  EXPECT_THAT(again->session, Eq(first->session));
  // Even after a restart.
  Restart();
  const Created later = Create(Request("a", "c1"));
  ASSERT_THAT(later, IsOk());
  EXPECT_THAT(later->snapshot.state.uid, Eq(first->snapshot.state.uid));
}

TEST_F(RegistryTest, ARepeatedRequestIdWithAnotherScalerIsNoRepetition) {
  ASSERT_THAT(Create(Request("a", "c1")), IsOk());
  Registry::CreateRequest other = Request("a", "c1");
  other.config = LossScaler::None();
  EXPECT_THAT(Create(other), IsError(Reason::kSessionExists));
}

TEST_F(RegistryTest, ADoubledCreationWaitsForTheFirst) {
  store_.Hold();
  Caught<Created> first;
  Caught<Created> second;
  Caught<Created> stranger;
  registry_->Create(Request("a", "c1"), first.Callback());
  registry_->Create(Request("a", "c1"), second.Callback());
  registry_->Create(Request("a", "c2"), stranger.Callback());
  EXPECT_THAT(second.size(), Eq(0u));
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kSessionNotFound));
  store_.Release();
  ASSERT_THAT(first.at(0), IsOk());
  ASSERT_THAT(second.at(0), IsOk());
  EXPECT_THAT(second.at(0)->session, Eq(first.at(0)->session));
  EXPECT_THAT(stranger.at(0), IsError(Reason::kSessionExists));
  EXPECT_THAT(registry_->Find("a", ""), IsOk());
}

TEST_F(RegistryTest, ReturnIfEqualComparesTheConfigurationNotTheState) {
  const Created first = Create(Request("a"));
  Caught<absl::StatusOr<UpdateAnswer>> vote;
  first->session->Update(1, VoteOf(Verdict::kOverflow), vote.Callback());
  ASSERT_THAT(vote.at(0), IsOk());

  Registry::CreateRequest request = Request("a");
  request.return_if_equal = true;
  const Created again = Create(request);
  ASSERT_THAT(again, IsOk());
  EXPECT_FALSE(again->created);
  EXPECT_THAT(again->snapshot.state.step, Eq(2));
  request.config = LossScaler::None();
  EXPECT_THAT(Create(request), IsErrorSaying(Reason::kConfigMismatch, "None"));
}

TEST_F(RegistryTest, AFailedCreationLeavesNoTrace) {
  store_.FailNextWrite(Fault::kNotWritten);
  const Created failed = Create(Request("a", "c1"));
  EXPECT_THAT(failed, IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(RetryDelayOf(failed.status()), Optional(absl::Seconds(3)));
  EXPECT_THAT(registry_->size(), Eq(0));
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(Create(Request("a", "c1")), IsOk());
}

TEST_F(RegistryTest, ACreationThatWaitedForAFailedOneIsTheFirst) {
  store_.FailNextWrite(Fault::kNotWritten);
  store_.Hold();
  Caught<Created> first;
  Caught<Created> second;
  registry_->Create(Request("a", "c1"), first.Callback());
  registry_->Create(Request("a", "c2"), second.Callback());
  store_.Release();
  EXPECT_THAT(first.at(0), IsError(Reason::kStoreUnavailable));
  ASSERT_THAT(second.size(), Eq(1u));
  ASSERT_THAT(second.at(0), IsOk());
  EXPECT_TRUE(second.at(0)->created);
}

TEST_F(RegistryTest, AnUnknownCreationIsFoundOnceTheStoreAnswers) {
  store_.FailNextWrite(Fault::kWrittenUnknown);
  store_.FailReads(true);
  EXPECT_THAT(Create(Request("a", "c1")), IsError(Reason::kStoreUnavailable));
  // It may be there: "not found" would be a lie.
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Create(Request("a", "c1")), IsError(Reason::kStoreUnavailable));
  store_.FailReads(false);
  EXPECT_THAT(registry_->Find("a", ""), IsOk());
  const Created again = Create(Request("a", "c1"));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->created);
}

TEST_F(RegistryTest, AnUnknownCreationThatWasLostIsMadeAnew) {
  store_.FailNextWrite(Fault::kLostUnknown);
  store_.FailReads(true);
  EXPECT_THAT(Create(Request("a", "c1")), IsError(Reason::kStoreUnavailable));
  store_.FailReads(false);
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(registry_->size(), Eq(0));
  EXPECT_THAT(Create(Request("a", "c1")), IsOk());
}

// Nobody names the lost sessions again: they must not take all places.
TEST_F(RegistryTest, CreationsThatWereLostTakeNoPlaceOnceTheStoreAnswers) {
  store_.FailReads(true);
  for (const char* name : {"a", "b", "c", "d"}) {
    store_.FailNextWrite(Fault::kLostUnknown);
    EXPECT_THAT(Create(Request(name)), IsError(Reason::kStoreUnavailable));
  }
  // They may be there.
  EXPECT_THAT(registry_->size(), Eq(4));
  const int reloads = store_.reloads();
  EXPECT_THAT(Create(Request("e")), IsError(Reason::kTooManySessions));
  // A store that is away is asked once, not once per session.
  EXPECT_THAT(store_.reloads(), Eq(reloads + 1));
  store_.FailReads(false);
  EXPECT_THAT(Create(Request("e")), IsOk());
  EXPECT_THAT(registry_->size(), Eq(1));
  EXPECT_THAT(Delete("e", "", ""), IsOk());
  EXPECT_THAT(registry_->size(), Eq(0));
}

TEST_F(RegistryTest, AnUnknownCreationThatIsThereStays) {
  store_.FailReads(true);
  store_.FailNextWrite(Fault::kWrittenUnknown);
  EXPECT_THAT(Create(Request("a")), IsError(Reason::kStoreUnavailable));
  store_.FailReads(false);
  EXPECT_THAT(Create(Request("b")), IsOk());
  EXPECT_THAT(registry_->Find("a", ""), IsOk());
  EXPECT_THAT(registry_->size(), Eq(2));
}

TEST_F(RegistryTest, SessionsAreLimited) {
  for (const char* name : {"a", "b", "c", "d"}) MustCreate(name);
  const Created refused = Create(Request("e"));
  EXPECT_THAT(refused, IsErrorSaying(Reason::kTooManySessions, "4 sessions"));
  EXPECT_THAT(MetadataOf(refused.status()), Contains(Pair("limit", "4")));
  // One that exists is found all the same, and room is room.
  EXPECT_THAT(Create(Request("a")), IsError(Reason::kSessionExists));
  EXPECT_THAT(Delete("a", "", ""), IsOk());
  EXPECT_THAT(Create(Request("e")), IsOk());
}

// ---- Find ---------------------------------------------------------------

TEST_F(RegistryTest, AnotherUidIsAnotherSession) {
  const std::string first = MustCreate("a");
  EXPECT_THAT(registry_->Find("a", first), IsOk());
  ASSERT_THAT(Delete("a", first, ""), IsOk());
  const std::string second = MustCreate("a");
  const absl::Status status = registry_->Find("a", first).status();
  EXPECT_THAT(status, IsError(Reason::kSessionReplaced));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("session_uid", second)));
  const absl::Status huge =
      registry_->Find("a", std::string(1'000'000, 'x')).status();
  EXPECT_THAT(huge, IsError(Reason::kSessionReplaced));
  EXPECT_LT(huge.message().size(), 1000u);
}

TEST_F(RegistryTest, WhatTheStoreHoldsIsLoaded) {
  const Created created = Create(Request("a"));
  Caught<absl::StatusOr<UpdateAnswer>> vote;
  created->session->Update(1, VoteOf(Verdict::kOverflow), vote.Callback());
  Restart();
  const auto session = registry_->Find("a", created->snapshot.state.uid);
  ASSERT_THAT(session, IsOk());
  EXPECT_THAT((*session)->Snapshot()->state.scaler.scale(), Eq(32768.0));
  EXPECT_THAT((*session)->Snapshot()->last_decision,
              Optional(vote.at(0)->decision));
}

// Hole H8: nothing that was answered may be forgotten, epochs included.
TEST_F(RegistryTest, ARestoredEpochSurvivesARestart) {
  const Created created = Create(Request("a"));
  Caught<absl::StatusOr<RestoreAnswer>> restored;
  created->session->Restore(GoldenScaler(), 1, "r", restored.Callback());
  Restart();
  EXPECT_THAT((*registry_->Find("a", ""))->Snapshot()->state.epoch, Eq(2));
}

TEST_F(RegistryTest, AStoreThatCannotLoadIsAnError) {
  store_.FailReads(true);
  Registry registry(&store_, limits_);
  EXPECT_THAT(registry.Load(), IsError(Reason::kStoreUnavailable));
}

// ---- Delete -------------------------------------------------------------

TEST_F(RegistryTest, ADeletedSessionIsGoneForGood) {
  MustCreate("a");
  EXPECT_THAT(Delete("a", "", ""), IsOk());
  EXPECT_THAT(registry_->size(), Eq(0));
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(Delete("a", "", ""), IsError(Reason::kSessionNotFound));
  Restart();
  EXPECT_THAT(registry_->size(), Eq(0));
}

TEST_F(RegistryTest, ARepeatedDeletionSucceedsAgain) {
  const std::string uid = MustCreate("a");
  EXPECT_THAT(Delete("a", uid, "d1"), IsOk());
  EXPECT_THAT(Delete("a", uid, "d1"), IsOk());
  EXPECT_THAT(Delete("a", uid, "d2"), IsError(Reason::kSessionNotFound));
  Restart();
  EXPECT_THAT(Delete("a", uid, "d1"), IsOk());
  EXPECT_THAT(Delete("b", "", "d1"), IsError(Reason::kSessionNotFound));
}

TEST_F(RegistryTest, ARepeatedDeletionNeverDeletesANewSession) {
  const std::string first = MustCreate("a");
  ASSERT_THAT(Delete("a", first, "d1"), IsOk());
  const std::string second = MustCreate("a");
  EXPECT_THAT(Delete("a", first, "d1"), IsOk());
  EXPECT_THAT(Delete("a", "", "d1"), IsOk());
  EXPECT_THAT(registry_->Find("a", second), IsOk());
  // Another request for the old session is not one for the new.
  EXPECT_THAT(Delete("a", first, "d2"), IsError(Reason::kSessionReplaced));
  EXPECT_THAT(registry_->Find("a", second), IsOk());
}

// A store in which something happens just before a deletion is looked up.
class InterruptedStore final : public Store {
 public:
  explicit InterruptedStore(Store* inner) : inner_(inner) {}
  void BeforeNextFindDeletion(std::function<void()> interruption) {
    interruption_ = std::move(interruption);
  }

  std::string_view name() const override { return inner_->name(); }
  std::string_view durability() const override { return inner_->durability(); }
  std::int64_t start_count() const override { return inner_->start_count(); }
  absl::StatusOr<std::vector<StoredSession>> LoadAll() override {
    return inner_->LoadAll();
  }
  void Commit(Write write, Done done) override {
    inner_->Commit(std::move(write), std::move(done));
  }
  absl::StatusOr<std::optional<StoredSession>> Reload(
      std::string_view uid) override {
    return inner_->Reload(uid);
  }
  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view uid, std::int64_t step) override {
    return inner_->FindDecision(uid, step);
  }
  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view uid, std::string_view request_id) override {
    return inner_->FindDecisionByRequest(uid, request_id);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisions(std::string_view uid,
                                                      std::int64_t before_step,
                                                      int limit) override {
    return inner_->ListDecisions(uid, before_step, limit);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view uid, std::int64_t iteration, std::int64_t before_step,
      int limit) override {
    return inner_->ListDecisionsByIteration(uid, iteration, before_step, limit);
  }
  absl::StatusOr<std::vector<Decision>> ReadDecisions(std::string_view uid,
                                                      std::int64_t from_step,
                                                      int limit) override {
    return inner_->ReadDecisions(uid, from_step, limit);
  }
  absl::StatusOr<std::optional<Deletion>> FindDeletion(
      std::string_view request_id) override {
    // What is found was there before the interruption.
    absl::StatusOr<std::optional<Deletion>> found =
        inner_->FindDeletion(request_id);
    if (interruption_) std::exchange(interruption_, nullptr)();
    return found;
  }
  absl::Status Health() override { return inner_->Health(); }

 private:
  Store* const inner_;
  std::function<void()> interruption_;
};

// A proxy doubles the call; between the two lookups of the second copy the
// first one deletes the session and somebody creates it again.
TEST_F(RegistryTest, ADoubledDeletionNeverDeletesASessionThatCameInBetween) {
  InterruptedStore store(&memory_);
  Registry registry(&store, limits_);
  Caught<Created> created;
  registry.Create(Request("a"), created.Callback());
  Caught<absl::Status> deleted;
  store.BeforeNextFindDeletion([&] {
    registry.Delete("a", "", "d1", deleted.Callback());
    registry.Create(Request("a"), created.Callback());
  });
  registry.Delete("a", "", "d1", deleted.Callback());
  ASSERT_THAT(deleted.size(), Eq(2u));
  EXPECT_THAT(deleted.at(0), IsOk());
  EXPECT_THAT(deleted.at(1), IsOk());
  ASSERT_THAT(created.at(1), IsOk());
  EXPECT_THAT(registry.Find("a", created.at(1)->snapshot.state.uid), IsOk());
}

TEST_F(RegistryTest, ADeletionDoubledBeforeItIsWrittenIsOne) {
  MustCreate("a");
  store_.Hold();
  Caught<absl::Status> same;
  Caught<absl::Status> other;
  registry_->Delete("a", "", "d1", same.Callback());
  registry_->Delete("a", "", "d1", same.Callback());
  registry_->Delete("a", "", "d2", other.Callback());
  store_.Release();
  ASSERT_THAT(same.size(), Eq(2u));
  EXPECT_THAT(same.at(0), IsOk());
  EXPECT_THAT(same.at(1), IsOk());
  EXPECT_THAT(other.at(0), IsError(Reason::kSessionNotFound));
}

TEST_F(RegistryTest, ACreationDuringADeletionWaitsAndMakesANewSession) {
  const std::string first = MustCreate("a");
  store_.Hold();
  Caught<absl::Status> deleted;
  Caught<Created> created;
  registry_->Delete("a", "", "d1", deleted.Callback());
  registry_->Create(Request("a", "c2"), created.Callback());
  EXPECT_THAT(created.size(), Eq(0u));
  store_.Release();
  EXPECT_THAT(deleted.at(0), IsOk());
  ASSERT_THAT(created.size(), Eq(1u));
  ASSERT_THAT(created.at(0), IsOk());
  EXPECT_TRUE(created.at(0)->created);
  EXPECT_THAT(created.at(0)->snapshot.state.uid, Ne(first));
  EXPECT_THAT(registry_->size(), Eq(1));
}

TEST_F(RegistryTest, AFailedDeletionKeepsTheSession) {
  MustCreate("a");
  store_.FailNextWrite(Fault::kNotWritten);
  EXPECT_THAT(Delete("a", "", "d1"), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(registry_->Find("a", ""), IsOk());
  EXPECT_THAT(Delete("a", "", "d1"), IsOk());
}

TEST_F(RegistryTest, AnUnknownDeletionIsSettledByTheNextCall) {
  MustCreate("a");
  store_.FailNextWrite(Fault::kWrittenUnknown);
  // Reading fails only once the deletion is under way.
  Caught<absl::Status> deleted;
  store_.Hold();
  registry_->Delete("a", "", "d1", deleted.Callback());
  store_.FailReads(true);
  store_.Release();
  ASSERT_THAT(deleted.size(), Eq(1u));
  EXPECT_THAT(deleted.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kStoreUnavailable));
  store_.FailReads(false);
  EXPECT_THAT(registry_->Find("a", ""), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(registry_->size(), Eq(0));
  EXPECT_THAT(Delete("a", "", "d1"), IsOk());
}

TEST_F(RegistryTest, ADeletionThatCannotBeLookedUpIsNotMade) {
  MustCreate("a");
  store_.FailReads(true);
  const absl::Status status = Delete("a", "", "d1");
  EXPECT_THAT(status, IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(RetryDelayOf(status), Optional(absl::Seconds(3)));
  store_.FailReads(false);
  EXPECT_THAT(registry_->Find("a", ""), IsOk());
}

// ---- List ---------------------------------------------------------------

TEST_F(RegistryTest, ListsByNameWithinThePrefixInPages) {
  for (const char* name : {"b/2", "a", "b/1", "c"}) MustCreate(name);
  EXPECT_THAT(Names("", "", 10), ElementsAre("a", "b/1", "b/2", "c"));
  EXPECT_THAT(Names("b", "", 10), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(Names("b/", "b/1", 10), ElementsAre("b/2"));
  EXPECT_THAT(Names("", "a", 2), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(Names("b", "c", 10), IsEmpty());
  EXPECT_THAT(Names("d", "", 10), IsEmpty());
  EXPECT_THAT(Names("", "c", 10), IsEmpty());
}

}  // namespace
}  // namespace lossscaler::server
