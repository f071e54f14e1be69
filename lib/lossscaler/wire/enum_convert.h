// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Enumerators between core and proto. Internal to wire.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_WIRE_ENUM_CONVERT_H_
#define LOSSSCALER_WIRE_ENUM_CONVERT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::wire {

// Every enum of core that mirrors a proto enum whose value 0 is "unset" is the
// proto's value minus one.
template <typename ProtoEnum, typename CoreEnum>
ProtoEnum EnumToProto(CoreEnum value) {
  return static_cast<ProtoEnum>(static_cast<int>(value) + 1);
}

// `field` has an enumerator that this version does not know.
inline absl::Status UnknownEnumerator(Reason reason, std::string_view field,
                                      int value) {
  return MakeError(
      reason,
      absl::StrCat(std::string(field), " has the unknown value ", value,
                   "; use one that this server's proto defines"),
      {{"field", std::string(field)}, {"value", absl::StrCat(value)}});
}

// Unset keeps what `result` has, its default.
template <typename CoreEnum, typename ProtoEnum>
absl::Status EnumFromProto(ProtoEnum value, bool known, Reason reason,
                           std::string_view field, CoreEnum* result) {
  if (value == 0) return absl::OkStatus();
  if (!known) return UnknownEnumerator(reason, field, static_cast<int>(value));
  *result = static_cast<CoreEnum>(static_cast<int>(value) - 1);
  return absl::OkStatus();
}

// The same where no default fits: unset is INVALID_FIELD like an unknown value.
template <typename CoreEnum, typename ProtoEnum>
absl::Status SetEnumFromProto(ProtoEnum value, bool known,
                              std::string_view field, CoreEnum* result) {
  if (value == 0) {
    return UnknownEnumerator(Reason::kInvalidField, field, 0);
  }
  return EnumFromProto(value, known, Reason::kInvalidField, field, result);
}

}  // namespace lossscaler::wire

#endif  // LOSSSCALER_WIRE_ENUM_CONVERT_H_
