// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Errors: every error of the service is an absl::Status with a machine-readable
// reason, the values its message mentions, and a delay where waiting helps.
//
// They travel inside the status as payloads, so that core needs no protobuf;
// lossscaler/wire turns them into google.rpc.ErrorInfo and RetryInfo and back.
// A user of the client library reads them with ReasonOf() and friends.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_ERROR_H_
#define LOSSSCALER_CORE_ERROR_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace lossscaler {

// Why a call failed. kReasonTable in error.cc is the one table of names and
// canonical codes; proto/README.md explains each and what to do about it.
enum class Reason {
  // Requests that are wrong whatever the state: INVALID_ARGUMENT.
  kInvalidSessionName,
  kInvalidScaler,
  kInvalidField,
  kRequestIdRequired,
  kChunkBeforeOpen,
  kOpenedTwice,
  kEmptyMessage,
  kMalformedMessage,
  kNoTensors,
  kInvalidTensor,
  kUnknownTensor,
  kChunkOutOfOrder,
  kChunkOverrun,
  kPartialElement,
  kChunkTooLarge,
  kStreamIncomplete,
  // Sessions.
  kSessionNotFound,  // NOT_FOUND
  kSessionExists,    // ALREADY_EXISTS
  kConfigMismatch,   // FAILED_PRECONDITION
  kSessionReplaced,  // FAILED_PRECONDITION
  kEpochMismatch,    // ABORTED
  // Steps and votes.
  kStepAhead,           // FAILED_PRECONDITION
  kStepForgotten,       // OUT_OF_RANGE
  kVoteConflict,        // FAILED_PRECONDITION
  kScaleMismatch,       // FAILED_PRECONDITION
  kResync,              // FAILED_PRECONDITION
  kVerdictLost,         // FAILED_PRECONDITION
  kNoGradientsChecked,  // FAILED_PRECONDITION
  // Group sessions.
  kInvalidGroup,        // INVALID_ARGUMENT
  kStepRequired,        // INVALID_ARGUMENT
  kWorkerHeld,          // ALREADY_EXISTS
  kFenced,              // ABORTED
  kNotActive,           // FAILED_PRECONDITION
  kSessionPaused,       // UNAVAILABLE
  kStaleAttempt,        // FAILED_PRECONDITION
  kCheckpointMismatch,  // FAILED_PRECONDITION
  kWrongKind,           // FAILED_PRECONDITION
  kTooManyWorkers,      // RESOURCE_EXHAUSTED
  // Streams.
  kStreamIdUsed,  // ALREADY_EXISTS
  kStreamIdle,    // DEADLINE_EXCEEDED
  // Limits: RESOURCE_EXHAUSTED.
  kTooManySessions,
  kTooManyStreams,
  kTooManyBytes,
  kTooManyTensors,
  kTooManyLosses,
  kTooManyParts,
  kTooManyCalls,
  // Who calls, and whether they may.
  kTokenRequired,  // UNAUTHENTICATED
  kTokenUnknown,   // UNAUTHENTICATED
  kNotAllowed,     // PERMISSION_DENIED
  // The server: UNAVAILABLE.
  kStoreUnavailable,
  kDraining,
  // Raised by the client library itself.
  kUnavailableBudgetSpent,  // UNAVAILABLE
  kLeaseStale,              // UNAVAILABLE
  kInvalidCredentials,      // INVALID_ARGUMENT
  kMalformedAnswer,         // INTERNAL
  // Raised by lossscalerctl.
  kInvalidFile,     // INVALID_ARGUMENT
  kFileNotWritten,  // DATA_LOSS
};

// "SESSION_NOT_FOUND" and so on.
std::string_view ReasonName(Reason reason);

// The canonical code of a reason.
absl::StatusCode CodeOf(Reason reason);

// Every reason, in the order of the enum.
const std::vector<Reason>& AllReasons();

// Names and values that a message mentions.
using ErrorMetadata = std::vector<std::pair<std::string, std::string>>;

// An error with the reason's code. `message` says what was wrong, what was
// expected and what to do; `metadata` repeats every dynamic value in it.
absl::Status MakeError(Reason reason, std::string_view message,
                       const ErrorMetadata& metadata = {});

// The same, telling the caller to wait `delay` (> 0) before trying again.
absl::Status MakeRetryableError(Reason reason, std::string_view message,
                                absl::Duration delay,
                                const ErrorMetadata& metadata = {});

// The parts of an error, for transport. Reasons of newer servers are kept as
// text although this version has no enumerator for them.
absl::Status MakeErrorFromParts(absl::StatusCode code, std::string_view message,
                                std::string_view reason_name,
                                const ErrorMetadata& metadata,
                                std::optional<absl::Duration> retry_delay);

// The reason of an error; nullopt for OK, for errors that did not come from
// this service, and for reasons that this version does not know.
std::optional<Reason> ReasonOf(const absl::Status& status);

// The name of the reason as received; empty if there is none.
std::string ReasonNameOf(const absl::Status& status);

// The values that go with an error, by name.
std::map<std::string, std::string> MetadataOf(const absl::Status& status);

// How long the server asks to wait, >= 0; nullopt if it does not say.
std::optional<absl::Duration> RetryDelayOf(const absl::Status& status);

// Text from outside, as a message may show it: in quotes, escaped to printable
// ASCII, and cut after 100 bytes, so that no name or document, however long or
// malformed, makes an error that cannot be sent or read.
std::string Quoted(std::string_view text);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_ERROR_H_
