// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/loss_scaler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/scaler_members.h"

namespace lossscaler {
namespace {

// ---- Validation. Everything is checked as it will be kept: after rounding.

double RoundToFloat32(double value) { return static_cast<float>(value); }

double RoundScale(StatePrecision precision, double value) {
  return precision == StatePrecision::kFloat64 ? value : RoundToFloat32(value);
}

double RoundFactor(StatePrecision precision, double value) {
  return precision == StatePrecision::kFloat32 ? RoundToFloat32(value) : value;
}

bool IsScale(double value) { return value >= kMinScale && value <= kMaxScale; }

absl::Status OutOfRange(std::string_view field, std::string_view value,
                        std::string_view allowed) {
  return MakeError(Reason::kInvalidScaler,
                   absl::StrCat(std::string(field), " is ", std::string(value),
                                "; it must be ", std::string(allowed)),
                   {{"field", std::string(field)},
                    {"value", std::string(value)},
                    {"allowed", std::string(allowed)}});
}

// For a number that rounding may have changed: a user who wrote 1.00000001
// would not understand why "1.00000001 is not greater than 1".
absl::Status OutOfRange(std::string_view field, double given, double rounded,
                        std::string_view allowed) {
  std::string value = NumberText(given);
  if (given != rounded && !std::isnan(given)) {
    absl::StrAppend(&value, " (", NumberText(rounded), " as a float32)");
  }
  return OutOfRange(field, value, allowed);
}

std::string ScaleRange() {
  return absl::StrCat("a normal float32 greater than zero, from ",
                      NumberText(kMinScale), " to ", NumberText(kMaxScale));
}

absl::Status RoundAndCheckScale(std::string_view field,
                                StatePrecision precision, double* scale) {
  const double given = std::exchange(*scale, RoundScale(precision, *scale));
  return IsScale(*scale) ? absl::OkStatus()
                         : OutOfRange(field, given, *scale, ScaleRange());
}

absl::Status RoundAndCheckFactors(DynamicOptions* options) {
  const DynamicOptions given = *options;
  options->growth_factor = RoundFactor(given.precision, given.growth_factor);
  options->backoff_factor = RoundFactor(given.precision, given.backoff_factor);
  if (!(options->growth_factor > 1.0) ||
      !std::isfinite(options->growth_factor)) {
    return OutOfRange("growth_factor", given.growth_factor,
                      options->growth_factor, "finite and greater than 1");
  }
  if (!(options->backoff_factor > 0.0 && options->backoff_factor < 1.0)) {
    return OutOfRange("backoff_factor", given.backoff_factor,
                      options->backoff_factor,
                      "greater than 0 and less than 1");
  }
  return absl::OkStatus();
}

absl::Status RoundAndCheckBounds(DynamicOptions* options) {
  if (options->min_scale.has_value()) {
    absl::Status status = RoundAndCheckScale("min_scale", options->precision,
                                             &*options->min_scale);
    if (!status.ok()) return status;
  }
  if (options->max_scale.has_value()) {
    absl::Status status = RoundAndCheckScale("max_scale", options->precision,
                                             &*options->max_scale);
    if (!status.ok()) return status;
  }
  const double min_scale = options->min_scale.value_or(kMinScale);
  if (options->max_scale.has_value() && *options->max_scale < min_scale) {
    return OutOfRange(
        "max_scale", NumberText(*options->max_scale),
        absl::StrCat("at least min_scale, which is ", NumberText(min_scale)));
  }
  return absl::OkStatus();
}

absl::Status CheckAtLeast(std::string_view field, std::int64_t value,
                          std::int64_t least) {
  return value >= least ? absl::OkStatus()
                        : OutOfRange(field, absl::StrCat(value),
                                     absl::StrCat("at least ", least));
}

template <typename Enum>
absl::Status CheckEnumerator(std::string_view field, Enum value) {
  const int index = static_cast<int>(value);
  return index >= 0 && index < static_cast<int>(kWords<Enum>.size())
             ? absl::OkStatus()
             : OutOfRange(field, absl::StrCat(index), "an enumerator");
}

absl::Status CheckEnumerators(const DynamicOptions& options) {
  absl::Status status = CheckEnumerator("precision", options.precision);
  status.Update(
      CheckEnumerator("hysteresis_refill", options.hysteresis_refill));
  status.Update(CheckEnumerator("growth_count", options.growth_count));
  status.Update(CheckEnumerator("finite_guard", options.finite_guard));
  status.Update(
      CheckEnumerator("unscale_arithmetic", options.unscale_arithmetic));
  status.Update(CheckEnumerator("floor_action", options.floor_action));
  return status;
}

absl::Status RoundAndCheckOptions(DynamicOptions* options) {
  absl::Status status = CheckEnumerators(*options);
  // Rounding depends on a known precision.
  if (!status.ok()) return status;
  status.Update(RoundAndCheckFactors(options));
  status.Update(CheckAtLeast("growth_interval", options->growth_interval, 1));
  status.Update(RoundAndCheckBounds(options));
  status.Update(CheckAtLeast("hysteresis", options->hysteresis, 1));
  status.Update(
      CheckAtLeast("max_consecutive_skips", options->max_consecutive_skips, 0));
  return status;
}

absl::Status RoundAndCheckStateScale(std::string_view field,
                                     const DynamicOptions& options,
                                     double* scale) {
  absl::Status status = RoundAndCheckScale(field, options.precision, scale);
  if (!status.ok()) return status;
  const double min_scale = options.min_scale.value_or(kMinScale);
  const double max_scale = options.max_scale.value_or(kMaxScale);
  if (*scale < min_scale || *scale > max_scale) {
    return OutOfRange(
        field, NumberText(*scale),
        absl::StrCat("within min_scale and max_scale, from ",
                     NumberText(min_scale), " to ", NumberText(max_scale)));
  }
  return absl::OkStatus();
}

absl::Status CheckCounters(const DynamicOptions& options,
                           const DynamicState& state) {
  absl::Status status =
      CheckAtLeast("steps_since_overflow", state.steps_since_overflow, 0);
  status.Update(CheckAtLeast("hysteresis_left", state.hysteresis_left, 1));
  if (state.hysteresis_left > options.hysteresis) {
    status.Update(OutOfRange(
        "hysteresis_left", absl::StrCat(state.hysteresis_left),
        absl::StrCat("at most hysteresis, which is ", options.hysteresis)));
  }
  status.Update(CheckAtLeast("consecutive_skips", state.consecutive_skips, 0));
  if (state.consecutive_skips != 0 && options.max_consecutive_skips == 0) {
    status.Update(OutOfRange("consecutive_skips",
                             absl::StrCat(state.consecutive_skips),
                             "0 unless max_consecutive_skips is set"));
  }
  return status;
}

// `scale_field` is what the caller calls the scale.
absl::Status RoundAndCheck(std::string_view scale_field,
                           DynamicOptions* options, DynamicState* state) {
  absl::Status status = RoundAndCheckOptions(options);
  // The state is held against options that are known to be good.
  if (!status.ok()) return status;
  status.Update(RoundAndCheckStateScale(scale_field, *options, &state->scale));
  status.Update(CheckCounters(*options, *state));
  return status;
}

// ---- The rule.

// Where scale and factor are float32, their product is exact in float64, so
// that one cast gives the float32 product; where the factor is float64, the
// cast is what the precision asks for.
double Multiply(StatePrecision precision, double scale, double factor) {
  return RoundScale(precision, scale * factor);
}

// Whether a growth was stopped.
//
// A scale that is at its bound already counts as stopped even if the factor is
// so close to 1 that the product rounds to the scale itself.
bool Grow(const DynamicOptions& options, double* scale) {
  const double product =
      Multiply(options.precision, *scale, options.growth_factor);
  const double bound = options.max_scale.value_or(kMaxScale);
  if (product <= bound && *scale < bound) {
    *scale = product;
    return false;
  }
  if (options.max_scale.has_value() ||
      options.finite_guard == FiniteGuard::kClamp) {
    *scale = bound;
  }
  return true;
}

// Whether a backoff was stopped in a way that is reported.
//
// At the exact edge: a backoff that lands on its bound exactly was not
// stopped, one that starts there was.
bool BackOff(const DynamicOptions& options, double* scale) {
  const double product =
      Multiply(options.precision, *scale, options.backoff_factor);
  const double bound = options.min_scale.value_or(kMinScale);
  const bool stopped = product < bound || *scale <= bound;
  *scale = std::max(product, bound);
  return stopped &&
         (bound <= kMinScale || options.floor_action == FloorAction::kMark);
}

// Counts a clean step and says whether the scale grows.
bool CountCleanStep(const DynamicOptions& options, std::int64_t* count) {
  const std::int64_t interval = options.growth_interval;
  const std::int64_t before = *count;
  switch (options.growth_count) {
    case GrowthCount::kInterval:
      *count = before >= interval - 1 ? 0 : before + 1;
      return *count == 0;
    case GrowthCount::kOneMoreAlways:
      *count = before >= interval ? 0 : before + 1;
      return *count == 0;
    case GrowthCount::kOneMoreAfterOverflow:
      break;
  }
  // This count never restarts at a growth; at the end of its range it goes on
  // from the smallest number that keeps its place in the interval.
  *count =
      (before == std::numeric_limits<std::int64_t>::max() ? before % interval
                                                          : before) +
      1;
  return before > 0 && before % interval == 0;
}

void TakeOverflow(const DynamicOptions& options, DynamicState* state,
                  ScalerUpdate* update) {
  state->steps_since_overflow = 0;
  if (state->hysteresis_left > 1) {
    --state->hysteresis_left;
  } else {
    update->floored = BackOff(options, &state->scale);
    if (options.hysteresis_refill == HysteresisRefill::kOnCleanStepOrBackoff) {
      state->hysteresis_left = options.hysteresis;
    }
  }
  if (options.max_consecutive_skips > 0) {
    if (state->consecutive_skips < std::numeric_limits<std::int64_t>::max()) {
      ++state->consecutive_skips;
    }
    update->stalled = state->consecutive_skips >= options.max_consecutive_skips;
  }
}

void TakeCleanStep(const DynamicOptions& options, DynamicState* state,
                   ScalerUpdate* update) {
  state->consecutive_skips = 0;
  const bool grows = CountCleanStep(options, &state->steps_since_overflow);
  if (grows) update->saturated = Grow(options, &state->scale);
  if (grows || options.hysteresis_refill != HysteresisRefill::kOnGrowth) {
    state->hysteresis_left = options.hysteresis;
  }
}

}  // namespace

absl::StatusOr<LossScaler> LossScaler::Static(double scale) {
  absl::Status status =
      RoundAndCheckScale("scale", StatePrecision::kFloat32, &scale);
  if (!status.ok()) return status;
  LossScaler scaler;
  scaler.value_ = StaticValue{scale};
  return scaler;
}

absl::StatusOr<LossScaler> LossScaler::Dynamic(double initial_scale,
                                               double growth_factor,
                                               std::int64_t growth_interval) {
  DynamicOptions options;
  options.initial_scale = initial_scale;
  options.growth_factor = growth_factor;
  options.growth_interval = growth_interval;
  return Dynamic(options);
}

absl::StatusOr<LossScaler> LossScaler::Dynamic(const DynamicOptions& options) {
  DynamicState start;
  start.scale = options.initial_scale;
  start.hysteresis_left = options.hysteresis;
  return Make("initial_scale", options, start);
}

absl::StatusOr<LossScaler> LossScaler::Dynamic(const DynamicOptions& options,
                                               const DynamicState& state) {
  return Make("scale", options, state);
}

absl::StatusOr<LossScaler> LossScaler::Make(std::string_view scale_field,
                                            const DynamicOptions& options,
                                            const DynamicState& state) {
  DynamicValue value{options, state};
  value.options.initial_scale = DynamicOptions().initial_scale;
  absl::Status status =
      RoundAndCheck(scale_field, &value.options, &value.state);
  if (!status.ok()) return status;
  LossScaler scaler;
  scaler.value_ = value;
  return scaler;
}

bool LossScaler::is_none() const {
  return std::holds_alternative<std::monostate>(value_);
}
bool LossScaler::is_static() const {
  return std::holds_alternative<StaticValue>(value_);
}
bool LossScaler::is_dynamic() const {
  return std::holds_alternative<DynamicValue>(value_);
}

std::string_view LossScaler::kind() const {
  if (is_dynamic()) return "Dynamic";
  return is_static() ? "Static" : "None";
}

double LossScaler::scale() const {
  if (const auto* dynamic = std::get_if<DynamicValue>(&value_)) {
    return dynamic->state.scale;
  }
  const auto* constant = std::get_if<StaticValue>(&value_);
  return constant != nullptr ? constant->scale : 1.0;
}

UnscaleArithmetic LossScaler::unscale_arithmetic() const {
  const auto* dynamic = std::get_if<DynamicValue>(&value_);
  return dynamic != nullptr ? dynamic->options.unscale_arithmetic
                            : UnscaleArithmetic::kDivide;
}

float LossScaler::ScaleLoss(float loss) const {
  return loss * static_cast<float>(scale());
}

float LossScaler::Unscale(float gradient) const {
  const float float32_scale = static_cast<float>(scale());
  if (float32_scale == 1.0f) return gradient;
  if (unscale_arithmetic() == UnscaleArithmetic::kDivide) {
    return gradient / float32_scale;
  }
  return gradient * static_cast<float>(1.0 / scale());
}

ScalerUpdate LossScaler::Update(bool overflow) {
  ScalerUpdate update;
  update.apply = !overflow;
  update.scale_before = scale();
  auto* dynamic = std::get_if<DynamicValue>(&value_);
  if (dynamic != nullptr) {
    update.hysteresis_before = dynamic->state.hysteresis_left;
    if (overflow) {
      TakeOverflow(dynamic->options, &dynamic->state, &update);
    } else {
      TakeCleanStep(dynamic->options, &dynamic->state, &update);
    }
    update.hysteresis_after = dynamic->state.hysteresis_left;
  }
  update.scale_after = scale();
  return update;
}

DynamicOptions LossScaler::dynamic_options() const {
  const DynamicValue& value = *std::get_if<DynamicValue>(&value_);
  DynamicOptions options = value.options;
  options.initial_scale = value.state.scale;
  return options;
}

const DynamicState& LossScaler::dynamic_state() const {
  return std::get_if<DynamicValue>(&value_)->state;
}

bool SameConfiguration(const LossScaler& a, const LossScaler& b) {
  const auto* dynamic_a = std::get_if<LossScaler::DynamicValue>(&a.value_);
  const auto* dynamic_b = std::get_if<LossScaler::DynamicValue>(&b.value_);
  if (dynamic_a != nullptr && dynamic_b != nullptr) {
    return dynamic_a->options == dynamic_b->options;
  }
  return a == b;
}

std::string LossScaler::DebugString() const {
  std::string text(kind());
  std::string_view separator = "{";
  for (const ScalerMember& member : MembersOf(*this)) {
    absl::StrAppend(&text, std::string(separator), std::string(member.name),
                    ": ");
    separator = ", ";
    if (const auto* number = std::get_if<double>(&member.value)) {
      absl::StrAppend(&text, NumberText(*number));
    } else if (const auto* count = std::get_if<std::int64_t>(&member.value)) {
      absl::StrAppend(&text, *count);
    } else {
      text.append(std::get<std::string_view>(member.value));
    }
  }
  if (!is_none()) text.push_back('}');
  return text;
}

std::ostream& operator<<(std::ostream& os, const LossScaler& scaler) {
  return os << scaler.DebugString();
}

}  // namespace lossscaler
