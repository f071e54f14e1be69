// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/error.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace lossscaler {
namespace {

constexpr char kReasonUrl[] = "lossscaler/reason";
constexpr char kRetryDelayUrl[] = "lossscaler/retry_delay_nanoseconds";
// One payload per value; its name follows.
constexpr char kMetadataUrlPrefix[] = "lossscaler/metadata/";

constexpr std::size_t kMaxQuotedBytes = 100;

struct ReasonRow {
  Reason reason;
  std::string_view name;
  absl::StatusCode code;
};

using absl::StatusCode;

// In the order of the enum.
constexpr ReasonRow kReasonTable[] = {
    {Reason::kInvalidSessionName, "INVALID_SESSION_NAME",
     StatusCode::kInvalidArgument},
    {Reason::kInvalidScaler, "INVALID_SCALER", StatusCode::kInvalidArgument},
    {Reason::kInvalidField, "INVALID_FIELD", StatusCode::kInvalidArgument},
    {Reason::kRequestIdRequired, "REQUEST_ID_REQUIRED",
     StatusCode::kInvalidArgument},
    {Reason::kChunkBeforeOpen, "CHUNK_BEFORE_OPEN",
     StatusCode::kInvalidArgument},
    {Reason::kOpenedTwice, "OPENED_TWICE", StatusCode::kInvalidArgument},
    {Reason::kEmptyMessage, "EMPTY_MESSAGE", StatusCode::kInvalidArgument},
    {Reason::kMalformedMessage, "MALFORMED_MESSAGE",
     StatusCode::kInvalidArgument},
    {Reason::kNoTensors, "NO_TENSORS", StatusCode::kInvalidArgument},
    {Reason::kInvalidTensor, "INVALID_TENSOR", StatusCode::kInvalidArgument},
    {Reason::kUnknownTensor, "UNKNOWN_TENSOR", StatusCode::kInvalidArgument},
    {Reason::kChunkOutOfOrder, "CHUNK_OUT_OF_ORDER",
     StatusCode::kInvalidArgument},
    {Reason::kChunkOverrun, "CHUNK_OVERRUN", StatusCode::kInvalidArgument},
    {Reason::kPartialElement, "PARTIAL_ELEMENT", StatusCode::kInvalidArgument},
    {Reason::kChunkTooLarge, "CHUNK_TOO_LARGE", StatusCode::kInvalidArgument},
    {Reason::kStreamIncomplete, "STREAM_INCOMPLETE",
     StatusCode::kInvalidArgument},
    {Reason::kSessionNotFound, "SESSION_NOT_FOUND", StatusCode::kNotFound},
    {Reason::kSessionExists, "SESSION_EXISTS", StatusCode::kAlreadyExists},
    {Reason::kConfigMismatch, "CONFIG_MISMATCH",
     StatusCode::kFailedPrecondition},
    {Reason::kSessionReplaced, "SESSION_REPLACED",
     StatusCode::kFailedPrecondition},
    {Reason::kEpochMismatch, "EPOCH_MISMATCH", StatusCode::kAborted},
    {Reason::kStepAhead, "STEP_AHEAD", StatusCode::kFailedPrecondition},
    {Reason::kStepForgotten, "STEP_FORGOTTEN", StatusCode::kOutOfRange},
    {Reason::kVoteConflict, "VOTE_CONFLICT", StatusCode::kFailedPrecondition},
    {Reason::kScaleMismatch, "SCALE_MISMATCH", StatusCode::kFailedPrecondition},
    {Reason::kResync, "RESYNC", StatusCode::kFailedPrecondition},
    {Reason::kVerdictLost, "VERDICT_LOST", StatusCode::kFailedPrecondition},
    {Reason::kNoGradientsChecked, "NO_GRADIENTS_CHECKED",
     StatusCode::kFailedPrecondition},
    {Reason::kInvalidGroup, "INVALID_GROUP", StatusCode::kInvalidArgument},
    {Reason::kStepRequired, "STEP_REQUIRED", StatusCode::kInvalidArgument},
    {Reason::kWorkerHeld, "WORKER_HELD", StatusCode::kAlreadyExists},
    {Reason::kFenced, "FENCED", StatusCode::kAborted},
    {Reason::kNotActive, "NOT_ACTIVE", StatusCode::kFailedPrecondition},
    {Reason::kSessionPaused, "SESSION_PAUSED", StatusCode::kUnavailable},
    {Reason::kStaleAttempt, "STALE_ATTEMPT", StatusCode::kFailedPrecondition},
    {Reason::kCheckpointMismatch, "CHECKPOINT_MISMATCH",
     StatusCode::kFailedPrecondition},
    {Reason::kWrongKind, "WRONG_KIND", StatusCode::kFailedPrecondition},
    {Reason::kTooManyWorkers, "TOO_MANY_WORKERS",
     StatusCode::kResourceExhausted},
    {Reason::kStreamIdUsed, "STREAM_ID_USED", StatusCode::kAlreadyExists},
    {Reason::kStreamIdle, "STREAM_IDLE", StatusCode::kDeadlineExceeded},
    {Reason::kTooManySessions, "TOO_MANY_SESSIONS",
     StatusCode::kResourceExhausted},
    {Reason::kTooManyStreams, "TOO_MANY_STREAMS",
     StatusCode::kResourceExhausted},
    {Reason::kTooManyBytes, "TOO_MANY_BYTES", StatusCode::kResourceExhausted},
    {Reason::kTooManyTensors, "TOO_MANY_TENSORS",
     StatusCode::kResourceExhausted},
    {Reason::kTooManyLosses, "TOO_MANY_LOSSES", StatusCode::kResourceExhausted},
    {Reason::kTooManyParts, "TOO_MANY_PARTS", StatusCode::kResourceExhausted},
    {Reason::kTooManyCalls, "TOO_MANY_CALLS", StatusCode::kResourceExhausted},
    {Reason::kTokenRequired, "TOKEN_REQUIRED", StatusCode::kUnauthenticated},
    {Reason::kTokenUnknown, "TOKEN_UNKNOWN", StatusCode::kUnauthenticated},
    {Reason::kNotAllowed, "NOT_ALLOWED", StatusCode::kPermissionDenied},
    {Reason::kStoreUnavailable, "STORE_UNAVAILABLE", StatusCode::kUnavailable},
    {Reason::kDraining, "DRAINING", StatusCode::kUnavailable},
    {Reason::kUnavailableBudgetSpent, "UNAVAILABLE_BUDGET_SPENT",
     StatusCode::kUnavailable},
    {Reason::kLeaseStale, "LEASE_STALE", StatusCode::kUnavailable},
    {Reason::kInvalidCredentials, "INVALID_CREDENTIALS",
     StatusCode::kInvalidArgument},
    {Reason::kMalformedAnswer, "MALFORMED_ANSWER", StatusCode::kInternal},
    {Reason::kInvalidFile, "INVALID_FILE", StatusCode::kInvalidArgument},
    {Reason::kFileNotWritten, "FILE_NOT_WRITTEN", StatusCode::kDataLoss},
};

constexpr bool TableFollowsEnum() {
  for (std::size_t i = 0; i < std::size(kReasonTable); ++i) {
    if (kReasonTable[i].reason != static_cast<Reason>(i)) return false;
  }
  return std::size(kReasonTable) ==
         static_cast<std::size_t>(Reason::kFileNotWritten) + 1;
}
static_assert(TableFollowsEnum());

const ReasonRow& RowOf(Reason reason) {
  return kReasonTable[static_cast<std::size_t>(reason)];
}

absl::Cord ToCord(std::string_view text) {
  return absl::Cord(absl::string_view(text.data(), text.size()));
}

}  // namespace

std::string_view ReasonName(Reason reason) { return RowOf(reason).name; }

absl::StatusCode CodeOf(Reason reason) { return RowOf(reason).code; }

const std::vector<Reason>& AllReasons() {
  static const auto* const reasons = [] {
    auto* all = new std::vector<Reason>;
    for (const ReasonRow& row : kReasonTable) all->push_back(row.reason);
    return all;
  }();
  return *reasons;
}

absl::Status MakeError(Reason reason, std::string_view message,
                       const ErrorMetadata& metadata) {
  return MakeErrorFromParts(CodeOf(reason), message, ReasonName(reason),
                            metadata, std::nullopt);
}

absl::Status MakeRetryableError(Reason reason, std::string_view message,
                                absl::Duration delay,
                                const ErrorMetadata& metadata) {
  return MakeErrorFromParts(CodeOf(reason), message, ReasonName(reason),
                            metadata, delay);
}

absl::Status MakeErrorFromParts(absl::StatusCode code, std::string_view message,
                                std::string_view reason_name,
                                const ErrorMetadata& metadata,
                                std::optional<absl::Duration> retry_delay) {
  absl::Status status(code, absl::string_view(message.data(), message.size()));
  if (!reason_name.empty()) status.SetPayload(kReasonUrl, ToCord(reason_name));
  for (const auto& [name, value] : metadata) {
    status.SetPayload(absl::StrCat(kMetadataUrlPrefix, name), ToCord(value));
  }
  if (retry_delay.has_value()) {
    const std::int64_t nanoseconds =
        absl::ToInt64Nanoseconds(std::max(*retry_delay, absl::ZeroDuration()));
    status.SetPayload(kRetryDelayUrl, absl::Cord(absl::StrCat(nanoseconds)));
  }
  return status;
}

std::optional<Reason> ReasonOf(const absl::Status& status) {
  const std::string name = ReasonNameOf(status);
  for (const ReasonRow& row : kReasonTable) {
    if (row.name == name) return row.reason;
  }
  return std::nullopt;
}

std::string ReasonNameOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kReasonUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

std::map<std::string, std::string> MetadataOf(const absl::Status& status) {
  std::map<std::string, std::string> metadata;
  status.ForEachPayload(
      [&metadata](absl::string_view url, const absl::Cord& value) {
        if (absl::ConsumePrefix(&url, kMetadataUrlPrefix)) {
          metadata[std::string(url)] = std::string(value);
        }
      });
  return metadata;
}

std::optional<absl::Duration> RetryDelayOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryDelayUrl);
  std::int64_t nanoseconds = 0;
  if (!payload.has_value() ||
      !absl::SimpleAtoi(std::string(*payload), &nanoseconds)) {
    return std::nullopt;
  }
  return absl::Nanoseconds(nanoseconds);
}

std::string Quoted(std::string_view text) {
  const bool cut = text.size() > kMaxQuotedBytes;
  const std::string_view shown = text.substr(0, kMaxQuotedBytes);
  return absl::StrCat(
      "\"", absl::CHexEscape(absl::string_view(shown.data(), shown.size())),
      cut ? "...\"" : "\"");
}

}  // namespace lossscaler
