// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/json_values.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/policy_words.h"
#include "ctl/value_text.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler::ctl {
namespace {

void Set(Json* json, const char* name, const std::string& text) {
  if (!text.empty()) (*json)[name] = text;
}

void Set(Json* json, const char* name, const std::optional<double>& number) {
  if (number) (*json)[name] = NumberJson(*number);
}

void Set(Json* json, const char* name,
         const std::optional<std::int64_t>& number) {
  if (number) (*json)[name] = *number;
}

void Set(Json* json, const char* name, const std::vector<std::string>& names) {
  if (!names.empty()) (*json)[name] = names;
}

Json PartVoteJson(const PartVote& part) {
  Json json = {{"name", part.name},
               {"verdict", std::string(VerdictName(part.verdict))}};
  Set(&json, "sum_of_squares", part.sum_of_squares);
  return json;
}

Json PartOutcomeJson(const PartOutcome& part) {
  Json json = {{"name", part.name}, {"apply", part.apply}};
  Set(&json, "sum_of_squares", part.sum_of_squares);
  return json;
}

template <typename Value>
void SetList(Json* json, const char* name, const std::vector<Value>& values,
             Json (*to_json)(const Value&)) {
  if (values.empty()) return;
  Json list = Json::array();
  for (const Value& value : values) list.push_back(to_json(value));
  (*json)[name] = list;
}

Json VoteJson(const Vote& vote) {
  Json json = Json::object();
  Set(&json, "worker", vote.worker);
  if (vote.incarnation != 0) json["incarnation"] = vote.incarnation;
  json["verdict"] = VerdictName(vote.verdict);
  json["resolved"] = VerdictName(vote.resolved);
  Set(&json, "stream_ids", vote.stream_ids);
  Set(&json, "scale_used", vote.scale_used);
  Set(&json, "base", vote.base);
  Set(&json, "base_session_uid", vote.base_session_uid);
  Set(&json, "iteration", vote.iteration);
  Set(&json, "sum_of_squares", vote.sum_of_squares);
  Set(&json, "request_id", vote.request_id);
  SetList(&json, "parts", vote.parts, PartVoteJson);
  return json;
}

Json CheckpointJson(const Checkpoint& checkpoint) {
  Json base = {{"step", checkpoint.base.step}};
  Set(&base, "session_uid", checkpoint.base.session_uid);
  Json json = {{"scaler", ScalerJson(checkpoint.scaler)}, {"base", base}};
  Set(&json, "iteration", checkpoint.iteration);
  return json;
}

}  // namespace

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json NumberJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json NumberJson(float value) {
  if (!std::isfinite(value)) return NumberJson(static_cast<double>(value));
  char text[32];  // Longer than any shortest float32.
  const std::to_chars_result written =
      std::to_chars(text, text + sizeof(text), value);
  double shortest = 0.0;
  std::from_chars(text, written.ptr, shortest);
  return shortest;
}

Json ScalerJson(const LossScaler& scaler) {
  return Json::parse(ToJson(scaler), nullptr, /*allow_exceptions=*/false);
}

Json CurrentJson(const Current& current) {
  Json json = {{"step", current.step},
               {"scale", current.scale},
               {"base", current.base},
               {"epoch", current.epoch}};
  Set(&json, "base_session_uid", current.base_session_uid);
  return json;
}

Json DecisionJson(const Decision& decision) {
  Json json = {{"step", decision.step},
               {"outcome", OutcomeName(decision.outcome)},
               {"reason", DecisionReasonName(decision.reason)},
               {"explanation", decision.explanation},
               {"scale_before", decision.scale_before},
               {"scale_after", decision.scale_after},
               {"base_before", decision.base_before},
               {"base_after", decision.base_after},
               {"epoch_after", decision.epoch_after},
               {"attempted", decision.attempted},
               {"applied", decision.applied},
               {"skipped", decision.skipped},
               {"saturated", decision.saturated},
               {"floored", decision.floored},
               {"stalled", decision.stalled},
               {"overflow", decision.overflow},
               {"decide_time", TimeText(decision.decide_time)}};
  Set(&json, "base_before_session_uid", decision.base_before_session_uid);
  Set(&json, "base_after_session_uid", decision.base_after_session_uid);
  SetList(&json, "votes", decision.votes, VoteJson);
  SetList(&json, "parts", decision.parts, PartOutcomeJson);
  Set(&json, "lost", decision.lost);
  Set(&json, "evicted", decision.evicted);
  Set(&json, "next_iteration", decision.next_iteration);
  Set(&json, "sum_of_squares", decision.sum_of_squares);
  Set(&json, "request_id", decision.request_id);
  return json;
}

Json GroupJson(const GroupConfig& config) {
  return {
      {"min_workers", config.min_workers},
      {"max_workers", config.max_workers},
      {"lease_ttl_millis", absl::ToInt64Milliseconds(config.lease_ttl)},
      {"step_timeout_millis", absl::ToInt64Milliseconds(config.step_timeout)},
      {"on_loss", PolicyWord(kLossPolicies, config.on_loss)},
      {"on_timeout", PolicyWord(kStragglerPolicies, config.on_timeout)},
      {"max_timeouts", config.max_timeouts},
      {"no_early_decision", !config.early_decision},
      {"parts", PolicyWord(kPartPolicies, config.parts)},
      {"degraded_skips", config.degraded_skips}};
}

Json WorkerJson(const MemberView& worker) {
  const Member& member = worker.member;
  Json json = {
      {"worker", member.worker},
      {"incarnation", member.incarnation},
      {"state", MemberStateName(member.state)},
      {"lease_left_millis", absl::ToInt64Milliseconds(worker.lease_left)}};
  if (worker.vote) json["vote"] = VoteJson(*worker.vote);
  if (member.checkpoint) {
    json["checkpoint"] = CheckpointJson(*member.checkpoint);
  }
  Set(&json, "late_overflow", worker.late_overflow);
  return json;
}

Json DegradedJson(const Degraded& degraded) {
  return {{"reason", degraded.reason}, {"workers", degraded.workers}};
}

}  // namespace lossscaler::ctl
