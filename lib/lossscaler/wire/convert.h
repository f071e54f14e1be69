// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Between the values of lossscaler/core and the messages of lossscaler.v1:
// scalers, gradients and times. Votes and decisions are in decision_convert.h,
// what only groups have is in group_convert.h.
//
// ToProto() never fails. ...FromProto() refuses what the domain does not know,
// with a reason; enumerators that this version does not know are refused, not
// taken for a default.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_WIRE_CONVERT_H_
#define LOSSSCALER_WIRE_CONVERT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/unscale.h"
#include "lossscaler/v1/decision.pb.h"
#include "lossscaler/v1/scaler.pb.h"
#include "lossscaler/v1/unscale.pb.h"

namespace lossscaler::wire {

// Configuration and state.
void ToProto(const LossScaler& scaler, v1::LossScaler* proto);
// Zero growth_factor, backoff_factor, growth_interval, hysteresis and
// hysteresis_left mean their defaults; unset enumerators too. INVALID_SCALER
// if no kind is set, an enumerator is unknown, or LossScaler refuses it.
absl::StatusOr<LossScaler> LossScalerFromProto(const v1::LossScaler& proto);

void ToProto(const Current& current, v1::Current* proto);
Current CurrentFromProto(const v1::Current& proto);

v1::ElementType ToProto(ElementType type);
// INVALID_FIELD naming `field` if the type is unset or unknown.
absl::StatusOr<ElementType> ElementTypeFromProto(v1::ElementType type,
                                                 std::string_view field);

// Statistics are left out of the message when `statistics` is false.
void ToProto(const UnscaleVerdict& verdict, bool statistics,
             v1::ChunkVerdict* proto);
// element_count is not on the wire: the chunk says it. A message that says
// overflow never becomes a verdict without one, whatever its counts are.
UnscaleVerdict VerdictFromProto(const v1::ChunkVerdict& proto,
                                std::uint64_t element_count);

google::protobuf::Timestamp ToProto(absl::Time time);
absl::Time TimeFromProto(const google::protobuf::Timestamp& proto);

google::protobuf::Duration ToProto(absl::Duration duration);
absl::Duration DurationFromProto(const google::protobuf::Duration& proto);

}  // namespace lossscaler::wire

#endif  // LOSSSCALER_WIRE_CONVERT_H_
