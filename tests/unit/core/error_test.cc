// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/error.h"

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ReasonTest, EveryReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (Reason reason : AllReasons()) {
    const std::string name(ReasonName(reason));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(name, ::testing::MatchesRegex("[A-Z]+(_[A-Z]+)*"));
  }
}

TEST(ReasonTest, AllReasonsStartsAndEndsWithTheEnum) {
  EXPECT_EQ(AllReasons().front(), Reason::kInvalidSessionName);
  EXPECT_EQ(AllReasons().back(), Reason::kFileNotWritten);
}

struct NamedReason {
  Reason reason;
  const char* name;
  absl::StatusCode code;
};

// Clients branch on these: names and codes are part of the wire contract.
TEST(ReasonTest, NamesAndCodesAreThoseOfTheContract) {
  const NamedReason contract[] = {
      {Reason::kInvalidScaler, "INVALID_SCALER",
       absl::StatusCode::kInvalidArgument},
      {Reason::kStreamIncomplete, "STREAM_INCOMPLETE",
       absl::StatusCode::kInvalidArgument},
      {Reason::kSessionNotFound, "SESSION_NOT_FOUND",
       absl::StatusCode::kNotFound},
      {Reason::kSessionExists, "SESSION_EXISTS",
       absl::StatusCode::kAlreadyExists},
      {Reason::kConfigMismatch, "CONFIG_MISMATCH",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kSessionReplaced, "SESSION_REPLACED",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kEpochMismatch, "EPOCH_MISMATCH", absl::StatusCode::kAborted},
      {Reason::kStepAhead, "STEP_AHEAD", absl::StatusCode::kFailedPrecondition},
      {Reason::kStepForgotten, "STEP_FORGOTTEN", absl::StatusCode::kOutOfRange},
      {Reason::kVoteConflict, "VOTE_CONFLICT",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kScaleMismatch, "SCALE_MISMATCH",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kResync, "RESYNC", absl::StatusCode::kFailedPrecondition},
      {Reason::kVerdictLost, "VERDICT_LOST",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kNoGradientsChecked, "NO_GRADIENTS_CHECKED",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kInvalidGroup, "INVALID_GROUP",
       absl::StatusCode::kInvalidArgument},
      {Reason::kStepRequired, "STEP_REQUIRED",
       absl::StatusCode::kInvalidArgument},
      {Reason::kWorkerHeld, "WORKER_HELD", absl::StatusCode::kAlreadyExists},
      {Reason::kFenced, "FENCED", absl::StatusCode::kAborted},
      {Reason::kNotActive, "NOT_ACTIVE", absl::StatusCode::kFailedPrecondition},
      {Reason::kSessionPaused, "SESSION_PAUSED",
       absl::StatusCode::kUnavailable},
      {Reason::kStaleAttempt, "STALE_ATTEMPT",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kCheckpointMismatch, "CHECKPOINT_MISMATCH",
       absl::StatusCode::kFailedPrecondition},
      {Reason::kWrongKind, "WRONG_KIND", absl::StatusCode::kFailedPrecondition},
      {Reason::kTooManyWorkers, "TOO_MANY_WORKERS",
       absl::StatusCode::kResourceExhausted},
      {Reason::kStreamIdUsed, "STREAM_ID_USED",
       absl::StatusCode::kAlreadyExists},
      {Reason::kStreamIdle, "STREAM_IDLE", absl::StatusCode::kDeadlineExceeded},
      {Reason::kTooManySessions, "TOO_MANY_SESSIONS",
       absl::StatusCode::kResourceExhausted},
      {Reason::kTooManyLosses, "TOO_MANY_LOSSES",
       absl::StatusCode::kResourceExhausted},
      {Reason::kTooManyParts, "TOO_MANY_PARTS",
       absl::StatusCode::kResourceExhausted},
      {Reason::kStoreUnavailable, "STORE_UNAVAILABLE",
       absl::StatusCode::kUnavailable},
      {Reason::kDraining, "DRAINING", absl::StatusCode::kUnavailable},
      {Reason::kUnavailableBudgetSpent, "UNAVAILABLE_BUDGET_SPENT",
       absl::StatusCode::kUnavailable},
      {Reason::kLeaseStale, "LEASE_STALE", absl::StatusCode::kUnavailable},
      {Reason::kInvalidCredentials, "INVALID_CREDENTIALS",
       absl::StatusCode::kInvalidArgument},
      {Reason::kMalformedAnswer, "MALFORMED_ANSWER",
       absl::StatusCode::kInternal},
      {Reason::kInvalidFile, "INVALID_FILE",
       absl::StatusCode::kInvalidArgument},
      {Reason::kFileNotWritten, "FILE_NOT_WRITTEN",
       absl::StatusCode::kDataLoss},
  };
  for (const NamedReason& entry : contract) {
    EXPECT_EQ(ReasonName(entry.reason), entry.name);
    EXPECT_EQ(CodeOf(entry.reason), entry.code) << entry.name;
  }
}

TEST(ErrorTest, EveryReasonCanBeReadBack) {
  for (Reason reason : AllReasons()) {
    const absl::Status status = MakeError(reason, "message");
    EXPECT_THAT(status, testing::IsError(reason));
    EXPECT_EQ(ReasonNameOf(status), ReasonName(reason));
  }
}

TEST(ErrorTest, CarriesMessageAndValues) {
  const absl::Status status =
      MakeError(Reason::kStepAhead, "step 7 is ahead",
                {{"step", "7"}, {"expected_step", "3"}, {"empty", ""}});
  EXPECT_EQ(status.message(), "step 7 is ahead");
  EXPECT_THAT(MetadataOf(status),
              ElementsAre(Pair("empty", ""), Pair("expected_step", "3"),
                          Pair("step", "7")));
  EXPECT_EQ(RetryDelayOf(status), std::nullopt);
}

TEST(ErrorTest, MetadataNamedLikeOtherPartsDoesNotReplaceThem) {
  const absl::Status status =
      MakeRetryableError(Reason::kDraining, "draining", absl::Seconds(1),
                         {{"reason", "x"}, {"retry_delay_nanoseconds", "y"}});
  EXPECT_EQ(ReasonOf(status), Reason::kDraining);
  EXPECT_EQ(RetryDelayOf(status), absl::Seconds(1));
  EXPECT_THAT(
      MetadataOf(status),
      ElementsAre(Pair("reason", "x"), Pair("retry_delay_nanoseconds", "y")));
}

TEST(ErrorTest, RetryDelayKeepsNanoseconds) {
  const absl::Duration delay = absl::Seconds(86400) + absl::Nanoseconds(1);
  EXPECT_EQ(
      RetryDelayOf(MakeRetryableError(Reason::kTooManyStreams, "full", delay)),
      delay);
}

TEST(ErrorTest, ANegativeRetryDelayMeansAtOnce) {
  EXPECT_EQ(RetryDelayOf(MakeErrorFromParts(absl::StatusCode::kUnavailable, "",
                                            "DRAINING", {}, -absl::Seconds(1))),
            absl::ZeroDuration());
}

TEST(ErrorTest, AReasonOfANewerServerIsKeptAsText) {
  const absl::Status status =
      MakeErrorFromParts(absl::StatusCode::kFailedPrecondition, "new",
                         "INVENTED_LATER", {{"k", "v"}}, absl::Seconds(2));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), std::nullopt);
  EXPECT_EQ(ReasonNameOf(status), "INVENTED_LATER");
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("k", "v")));
  EXPECT_EQ(RetryDelayOf(status), absl::Seconds(2));
}

TEST(ErrorTest, ErrorsOfOthersHaveNoParts) {
  for (const absl::Status& status :
       {absl::OkStatus(), absl::UnavailableError("connection refused")}) {
    EXPECT_EQ(ReasonOf(status), std::nullopt);
    EXPECT_EQ(ReasonNameOf(status), "");
    EXPECT_THAT(MetadataOf(status), IsEmpty());
    EXPECT_EQ(RetryDelayOf(status), std::nullopt);
  }
}

TEST(QuotedTest, EscapesWhatCannotBeShown) {
  EXPECT_EQ(Quoted("team/run"), "\"team/run\"");
  EXPECT_EQ(Quoted("a\nb\xff"), "\"a\\nb\\xff\"");
}

TEST(QuotedTest, CutsAfterAHundredBytes) {
  EXPECT_EQ(Quoted(std::string(100, 'x')), "\"" + std::string(100, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(101, 'x')),
            "\"" + std::string(100, 'x') + "...\"");
}

}  // namespace
}  // namespace lossscaler
