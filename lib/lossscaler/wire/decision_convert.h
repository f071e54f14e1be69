// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Votes and decisions between lossscaler/core and lossscaler.v1; the rules of
// convert.h hold here too.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_WIRE_DECISION_CONVERT_H_
#define LOSSSCALER_WIRE_DECISION_CONVERT_H_

#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/v1/decision.pb.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"

namespace lossscaler::wire {

// Every field.
void ToProto(const Vote& vote, v1::Vote* proto);
// A recorded vote, which is taken as it is. INVALID_FIELD for unknown
// enumerators.
absl::StatusOr<Vote> VoteFromProto(const v1::Vote& proto);

// A vote as a worker sends it: worker, incarnation and what it came to are not
// its to say, and are left out.
//
// INVALID_FIELD for an unknown verdict, a stream id or session uid that no
// stream or session can have, a scale_used that is not finite, or a
// sum_of_squares that is not finite or negative, of the vote or of a part.
absl::StatusOr<Vote> SentVoteFromProto(const v1::Vote& proto);

// The vote in an Update call, which also names session, step and worker. Errors
// as of SentVoteFromProto().
void VoteToRequest(const Vote& vote, v1::UpdateRequest* request);
absl::StatusOr<Vote> VoteFromRequest(const v1::UpdateRequest& request);

void ToProto(const Decision& decision, v1::Decision* proto);
absl::StatusOr<Decision> DecisionFromProto(const v1::Decision& proto);

}  // namespace lossscaler::wire

#endif  // LOSSSCALER_WIRE_DECISION_CONVERT_H_
