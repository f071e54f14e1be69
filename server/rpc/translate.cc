// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/translate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/degraded.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::server {

void ToProto(const SessionSnapshot& snapshot, v1::Session* proto) {
  const SessionState& state = snapshot.state;
  proto->set_name(state.name);
  proto->set_uid(state.uid);
  proto->set_kind(state.group ? v1::SESSION_KIND_GROUP : v1::SESSION_KIND_SOLO);
  wire::ToProto(state.config, proto->mutable_config());
  wire::ToProto(state.scaler, proto->mutable_scaler());
  wire::ToProto(state.current(), proto->mutable_current());
  if (snapshot.last_decision) {
    wire::ToProto(*snapshot.last_decision, proto->mutable_last_decision());
  }
  proto->set_attempted(state.attempted());
  proto->set_applied(state.applied);
  proto->set_skipped(state.skipped);
  proto->set_consecutive_skips(state.consecutive_skips);
  *proto->mutable_create_time() = wire::ToProto(state.create_time);
  proto->set_scaler_json(ToJson(state.scaler));
  const Decision* const last =
      snapshot.last_decision ? &*snapshot.last_decision : nullptr;
  if (const std::optional<Degraded> degraded = DegradedBy(state, last)) {
    wire::ToProto(*degraded, proto->mutable_degraded());
  }
  if (!state.group) return;
  wire::ToProto(state.group->config, proto->mutable_group());
  proto->set_attempt(state.group->attempt);
  if (snapshot.phase) proto->set_phase(wire::ToProto(*snapshot.phase));
  for (const MemberView& member : snapshot.members) {
    wire::ToProto(member, proto->add_workers());
  }
}

absl::Status TakeWorker(std::string_view name, std::int64_t number,
                        std::string* worker, std::int64_t* incarnation) {
  if (name.empty() && number == 0) return absl::OkStatus();
  absl::StatusOr<WorkerRef> taken = wire::WorkerRefOf(name, number);
  if (!taken.ok()) return taken.status();
  *worker = std::move(taken->worker);
  *incarnation = taken->incarnation;
  return absl::OkStatus();
}

absl::StatusOr<StreamOpen> StreamOpenFromProto(const v1::UnscaleOpen& proto) {
  if (!v1::OutputType_IsValid(proto.output_type())) {
    return UnknownEnumerator("output_type", proto.output_type());
  }
  if (!v1::UnscaleMode_IsValid(proto.mode())) {
    return UnknownEnumerator("mode", proto.mode());
  }
  StreamOpen open;
  if (absl::Status status =
          TakeWorker(proto.worker(), proto.incarnation(), &open.worker.worker,
                     &open.worker.incarnation);
      !status.ok()) {
    return status;
  }
  if (proto.has_step()) open.step = proto.step();
  open.stream_id = proto.stream_id();
  open.same_type = proto.output_type() == v1::OUTPUT_TYPE_SAME;
  open.check_only = proto.mode() == v1::UNSCALE_MODE_CHECK_ONLY;
  open.max_chunk_bytes = proto.max_chunk_bytes();
  open.skip_statistics = proto.skip_statistics();
  open.tensors.reserve(static_cast<std::size_t>(proto.tensors_size()));
  for (const v1::TensorSpec& spec : proto.tensors()) {
    const absl::StatusOr<ElementType> type =
        wire::ElementTypeFromProto(spec.type(), "type");
    if (!type.ok()) {
      return MakeError(Reason::kInvalidTensor,
                       absl::StrCat("tensor ", open.tensors.size(), " (",
                                    Quoted(spec.name()), "): ",
                                    std::string(type.status().message())),
                       {{"tensor", absl::StrCat(open.tensors.size())},
                        {"name", Quoted(spec.name())},
                        {"type", absl::StrCat(static_cast<int>(spec.type()))}});
    }
    StreamTensor tensor{.name = spec.name(),
                        .type = *type,
                        .element_count = spec.element_count(),
                        .ranges = {}};
    tensor.ranges.reserve(static_cast<std::size_t>(spec.ranges_size()));
    for (const v1::ElementRange& range : spec.ranges()) {
      tensor.ranges.push_back(
          {.offset = range.offset(), .count = range.count()});
    }
    open.tensors.push_back(std::move(tensor));
  }
  return open;
}

void ToProto(const StreamSummary& summary, bool statistics,
             v1::UnscaleSummary* proto) {
  wire::ToProto(summary.verdict, statistics, proto->mutable_verdict());
  proto->set_element_count(
      static_cast<std::int64_t>(summary.verdict.element_count));
  for (const StreamSummary::BadTensor& bad : summary.bad_tensors) {
    v1::BadTensor* tensor = proto->add_bad_tensors();
    tensor->set_tensor(bad.tensor);
    wire::ToProto(bad.verdict, statistics, tensor->mutable_verdict());
  }
}

absl::Status BadField(std::string_view field, std::string_view value,
                      std::string_view expected) {
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " is ", std::string(value), "; ",
                   std::string(expected)),
      {{"field", std::string(field)}, {"value", std::string(value)}});
}

absl::Status UnknownEnumerator(std::string_view field, int value) {
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " has the unknown value ", value,
                   "; use one that this server's proto "
                   "defines"),
      {{"field", std::string(field)}, {"value", absl::StrCat(value)}});
}

}  // namespace lossscaler::server
