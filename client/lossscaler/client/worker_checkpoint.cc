// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/worker_checkpoint.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "nlohmann/json.hpp"

namespace lossscaler {
namespace {

using Json = nlohmann::ordered_json;

absl::Status Broken(const std::string& what) {
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat("the checkpoint cannot be read: ", what,
                   "; hand in the bytes that Checkpoint() returned"),
      {{"field", "checkpoint"}, {"what", what}});
}

// A member that is a whole number from 0 on; nullopt otherwise.
std::optional<std::int64_t> Count(const Json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer()) {
    return std::nullopt;
  }
  const auto value = member->get<std::int64_t>();
  if (value < 0) return std::nullopt;
  return value;
}

// OK if every member has one of these names.
absl::Status CheckMembers(const Json& object,
                          const std::set<std::string>& names) {
  for (const auto& member : object.items()) {
    if (names.count(member.key()) != 0) continue;
    return Broken(absl::StrCat("member ", Quoted(member.key()), " is unknown"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ToBytes(const WorkerCheckpoint& checkpoint) {
  const Base& base = checkpoint.checkpoint.base;
  // The initial parameters are nobody's: equal bases have equal bytes.
  const std::string session_uid = base.step == 0 ? "" : base.session_uid;
  std::string bytes = absl::StrCat(
      "{\"scaler\":", ToJson(checkpoint.checkpoint.scaler),
      ",\"base\":{\"session_uid\":",
      Json(session_uid).dump(-1, ' ', false, Json::error_handler_t::replace),
      ",\"step\":", base.step, "}");
  if (checkpoint.checkpoint.iteration) {
    absl::StrAppend(&bytes,
                    ",\"iteration\":", *checkpoint.checkpoint.iteration);
  }
  absl::StrAppend(&bytes, ",\"attempt\":", checkpoint.attempt, "}");
  return bytes;
}

absl::StatusOr<WorkerCheckpoint> WorkerCheckpointFromBytes(
    std::string_view bytes) {
  const Json json = Json::parse(bytes, /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return Broken("it is no JSON object");
  if (absl::Status status =
          CheckMembers(json, {"scaler", "base", "iteration", "attempt"});
      !status.ok()) {
    return status;
  }
  const auto scaler_json = json.find("scaler");
  if (scaler_json == json.end()) return Broken("it has no scaler");
  absl::StatusOr<LossScaler> scaler = LossScalerFromJson(scaler_json->dump());
  if (!scaler.ok()) return scaler.status();
  const auto base = json.find("base");
  if (base == json.end() || !base->is_object()) {
    return Broken("it has no base");
  }
  if (absl::Status status = CheckMembers(*base, {"session_uid", "step"});
      !status.ok()) {
    return status;
  }
  const auto uid = base->find("session_uid");
  const std::optional<std::int64_t> step = Count(*base, "step");
  if (uid == base->end() || !uid->is_string() || !step) {
    return Broken("its base is not a session_uid and a step");
  }
  WorkerCheckpoint checkpoint;
  checkpoint.checkpoint.scaler = *std::move(scaler);
  checkpoint.checkpoint.base = {.session_uid = uid->get<std::string>(),
                                .step = *step};
  if (json.contains("iteration")) {
    checkpoint.checkpoint.iteration = Count(json, "iteration");
    if (!checkpoint.checkpoint.iteration) {
      return Broken("its iteration is no number from 0 on");
    }
  }
  const std::optional<std::int64_t> attempt = Count(json, "attempt");
  if (!attempt) return Broken("its attempt is no number from 0 on");
  checkpoint.attempt = *attempt;
  return checkpoint;
}

}  // namespace lossscaler
