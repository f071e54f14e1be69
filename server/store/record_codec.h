// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The bytes of sessions and decisions on disk.
//
// A session is a lossscaler.store.SessionRecord, a decision a
// lossscaler.v1.Decision, so that whoever has the wire contract can read the
// journal.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_STORE_RECORD_CODEC_H_
#define LOSSSCALER_SERVER_STORE_RECORD_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::server {

std::string EncodeSession(const SessionState& state);

// DATA_LOSS, saying what is wrong: bytes that are no record, or values that no
// session can have (a step before the first, a base that was not decided yet,
// a scaler configured otherwise than the session, two members of one
// incarnation).
absl::StatusOr<SessionState> DecodeSession(std::string_view bytes);

std::string EncodeDecision(const Decision& decision);

// DATA_LOSS for bytes that are no decision.
absl::StatusOr<Decision> DecodeDecision(std::string_view bytes);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_RECORD_CODEC_H_
