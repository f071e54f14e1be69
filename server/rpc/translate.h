// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Between the messages of lossscaler.v1 and what the sessions speak.

#ifndef LOSSSCALER_SERVER_RPC_TRANSLATE_H_
#define LOSSSCALER_SERVER_RPC_TRANSLATE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/v1/group.pb.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"
#include "lossscaler/v1/unscale.pb.h"
#include "sessions/answers.h"
#include "sessions/unscale_stream.h"

namespace lossscaler::server {

// With the workers that the snapshot has.
void ToProto(const SessionSnapshot& snapshot, v1::Session* proto);

// Who is asking, where a call may name a worker: both unset where neither is
// named, INVALID_FIELD for a pair that no worker can have.
absl::Status TakeWorker(std::string_view name, std::int64_t number,
                        std::string* worker, std::int64_t* incarnation);

// INVALID_TENSOR for an unknown element type, INVALID_FIELD for another
// unknown enumerator.
absl::StatusOr<StreamOpen> StreamOpenFromProto(const v1::UnscaleOpen& proto);

void ToProto(const StreamSummary& summary, bool statistics,
             v1::UnscaleSummary* proto);

// INVALID_FIELD: `field` has this value, which is not as expected.
absl::Status BadField(std::string_view field, std::string_view value,
                      std::string_view expected);

// INVALID_FIELD saying that `field` has a value this server does not know.
absl::Status UnknownEnumerator(std::string_view field, int value);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_TRANSLATE_H_
