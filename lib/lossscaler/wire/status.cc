// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/status.h"

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/protobuf/any.pb.h"
#include "lossscaler/core/error.h"
#include "lossscaler/rpc/error_details.pb.h"
#include "lossscaler/wire/convert.h"

namespace lossscaler::wire {
namespace {

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfoUrl[] = "type.googleapis.com/google.rpc.RetryInfo";

// Any::PackFrom() would write the name of our mirror message.
template <typename Message>
void Pack(const char* type_url, const Message& message,
          google::protobuf::Any* any) {
  any->set_type_url(type_url);
  message.SerializeToString(any->mutable_value());
}

// `details` contributes its details only.
absl::Status FromParts(int code, std::string_view message,
                       const rpc::Status& details) {
  if (code == 0) return absl::OkStatus();
  const absl::StatusCode canonical = code >= 1 && code <= 16
                                         ? static_cast<absl::StatusCode>(code)
                                         : absl::StatusCode::kUnknown;
  std::string reason;
  ErrorMetadata metadata;
  std::optional<absl::Duration> delay;
  for (const google::protobuf::Any& any : details.details()) {
    rpc::ErrorInfo info;
    rpc::RetryInfo retry;
    if (any.type_url() == kErrorInfoUrl && info.ParseFromString(any.value())) {
      if (info.domain() != kErrorDomain) continue;
      reason = info.reason();
      metadata.assign(info.metadata().begin(), info.metadata().end());
    } else if (any.type_url() == kRetryInfoUrl &&
               retry.ParseFromString(any.value())) {
      delay = DurationFromProto(retry.retry_delay());
    }
  }
  return MakeErrorFromParts(canonical, message, reason, metadata, delay);
}

}  // namespace

void ToProto(const absl::Status& status, rpc::Status* proto) {
  proto->Clear();
  if (status.ok()) return;
  proto->set_code(static_cast<int>(status.code()));
  proto->set_message(std::string(status.message()));

  const std::string reason = ReasonNameOf(status);
  if (!reason.empty()) {
    rpc::ErrorInfo info;
    info.set_reason(reason);
    info.set_domain(std::string(kErrorDomain));
    for (const auto& [key, value] : MetadataOf(status)) {
      (*info.mutable_metadata())[key] = value;
    }
    Pack(kErrorInfoUrl, info, proto->add_details());
  }
  if (const std::optional<absl::Duration> delay = RetryDelayOf(status)) {
    rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToProto(*delay);
    Pack(kRetryInfoUrl, retry, proto->add_details());
  }
}

absl::Status StatusFromProto(const rpc::Status& proto) {
  return FromParts(proto.code(), proto.message(), proto);
}

std::string SerializeErrorDetails(const absl::Status& status) {
  rpc::Status details;
  ToProto(status, &details);
  return details.SerializeAsString();
}

absl::Status StatusFromWire(int code, std::string_view message,
                            std::string_view details) {
  rpc::Status parsed;
  if (!parsed.ParseFromArray(details.data(),
                             static_cast<int>(details.size()))) {
    parsed.Clear();
  }
  return FromParts(code, message, parsed);
}

}  // namespace lossscaler::wire
