// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// LossScaler: the loss scale of one training run and the rule that adapts it.
//
// A LossScaler is a value: None, Static{scale} or Dynamic{...}. It is
// copyable, comparable, printable, and serialisable (loss_scaler_json.h).
//
//   auto scaler = LossScaler::Dynamic(65536, 2, 2000);
//   if (!scaler.ok()) return scaler.status();
//   float scaled = scaler->ScaleLoss(loss);        // loss * scale
//   float grad = scaler->Unscale(scaled_grad);     // grad / scale
//   if (scaler->Update(overflow).apply) optimizer.Step();
//
// The base rule (Micikevicius et al., "Mixed Precision Training", 2018,
// section 3.2): an overflow multiplies the scale by the backoff factor and
// skips the step; `growth_interval` clean steps in a row multiply it by the
// growth factor. DynamicOptions adds knobs, each of which changes nothing by
// default; presets.h sets them to reproduce other systems.
//
// Safety that always holds: the scale is a finite, normal float32 greater than
// zero, whatever the precision of the state, because losses are scaled in
// float32 and because 1/scale must be finite too. A growth that would leave
// that range is not applied (or clamped: FiniteGuard) and reported as
// `saturated`; a backoff stops at the smallest normal float32 (2^-126) and is
// reported as `floored`.
//
// Thread safety: as an int. Nothing here throws.

#ifndef LOSSSCALER_CORE_LOSS_SCALER_H_
#define LOSSSCALER_CORE_LOSS_SCALER_H_

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"

namespace lossscaler {

// The range of every scale.
inline constexpr double kMinScale = std::numeric_limits<float>::min();
inline constexpr double kMaxScale = std::numeric_limits<float>::max();

enum class HysteresisRefill {
  // Refilled when the scale grows (Megatron, ColossalAI, DeepSpeed).
  kOnGrowth,
  // Refilled by every clean step (apex kernel, DeepSpeed "consecutive").
  kOnCleanStep,
  // Refilled by every clean step and after each backoff (Paddle).
  kOnCleanStepOrBackoff,
};

// Let n be the number of clean steps since the last overflow, W the growth
// interval.
enum class GrowthCount {
  // The count restarts at each growth: grows when it reaches W.
  kInterval,
  // Grows at n = W + 1, 2W + 1, 3W + 1, ... (DeepSpeed). The count does not
  // restart at a growth.
  kOneMoreAfterOverflow,
  // The count restarts at each growth: grows when it reaches W + 1 (flax).
  kOneMoreAlways,
};

enum class StatePrecision {
  // Scale and factors are float32; products are float32 products.
  kFloat32,
  // The scale is float32, factors are float64: f32(f64(scale) * factor).
  kFloat32Float64Factors,
  // Scale and factors are float64.
  kFloat64,
};

enum class FiniteGuard {
  // Growth past the largest float32 is not applied.
  kHold,
  // Growth past the largest float32 stops at the largest float32.
  kClamp,
};

enum class UnscaleArithmetic {
  // gradient / scale.
  kDivide,
  // gradient * (1 / scale), the reciprocal taken in float64 and rounded to the
  // type of the arithmetic.
  kMultiplyByReciprocal,
};

enum class FloorAction {
  // A backoff that min_scale stops is silent.
  kHold,
  // It is reported as `floored`. (A stop at kMinScale always is.)
  kMark,
};

// How a Dynamic scaler behaves. The defaults are the base rule.
struct DynamicOptions {
  // In [min_scale, max_scale]. Rounded to float32 unless precision is kFloat64.
  double initial_scale = 65536.0;
  // > 1 and finite. Rounded to float32 if precision is kFloat32.
  double growth_factor = 2.0;
  // In (0, 1). Rounded to float32 if precision is kFloat32.
  double backoff_factor = 0.5;
  // > 0.
  std::int64_t growth_interval = 2000;

  // Bounds of the scale, in [kMinScale, kMaxScale]. A growth stops at
  // max_scale (whatever finite_guard says), a backoff at min_scale. Rounded
  // like initial_scale.
  std::optional<double> min_scale = std::nullopt;
  std::optional<double> max_scale = std::nullopt;
  // The scale backs off on every overflow that finds at most one overflow left
  // in the allowance; others only use it up. > 0; 1 backs off every time.
  std::int64_t hysteresis = 1;
  HysteresisRefill hysteresis_refill = HysteresisRefill::kOnGrowth;
  GrowthCount growth_count = GrowthCount::kInterval;
  StatePrecision precision = StatePrecision::kFloat32;
  FiniteGuard finite_guard = FiniteGuard::kHold;
  UnscaleArithmetic unscale_arithmetic = UnscaleArithmetic::kDivide;
  FloorAction floor_action = FloorAction::kHold;
  // An update that makes this many skips in a row, or more, is reported as
  // `stalled`. >= 0; 0 never.
  std::int64_t max_consecutive_skips = 0;

  friend bool operator==(const DynamicOptions&,
                         const DynamicOptions&) = default;
};

// What changes from step to step in a Dynamic scaler.
struct DynamicState {
  double scale = 65536.0;
  // Clean steps since the last overflow, or the last growth if GrowthCount
  // restarts there. >= 0.
  std::int64_t steps_since_overflow = 0;
  // Overflows until the next backoff, that one included. In [1, hysteresis].
  std::int64_t hysteresis_left = 1;
  // >= 0. Counted only if max_consecutive_skips > 0, otherwise 0.
  std::int64_t consecutive_skips = 0;

  friend bool operator==(const DynamicState&, const DynamicState&) = default;
};

// What an update did.
struct ScalerUpdate {
  // Whether the optimizer step applies.
  bool apply = true;
  double scale_before = 1.0;
  double scale_after = 1.0;
  // The allowance of overflows before and after; 1 when hysteresis is off.
  std::int64_t hysteresis_before = 1;
  std::int64_t hysteresis_after = 1;
  // A growth was due and kMaxScale or max_scale stopped it, wholly or partly.
  // One that lands on its bound exactly was not stopped; one that starts there
  // was. The counters go on as after any growth.
  bool saturated = false;
  // A backoff was stopped, wholly or partly: by kMinScale, or by min_scale
  // with FloorAction::kMark. At the exact edge as for `saturated`.
  bool floored = false;
  // max_consecutive_skips was reached.
  bool stalled = false;

  friend bool operator==(const ScalerUpdate&, const ScalerUpdate&) = default;
};

class LossScaler {
 public:
  // None.
  LossScaler() = default;
  static LossScaler None() { return LossScaler(); }

  // A constant scale, in [kMinScale, kMaxScale] after rounding to float32.
  // Otherwise INVALID_SCALER.
  static absl::StatusOr<LossScaler> Static(double scale);

  // The base rule with backoff factor 0.5. INVALID_SCALER if a value is out of
  // its range.
  static absl::StatusOr<LossScaler> Dynamic(double initial_scale,
                                            double growth_factor,
                                            std::int64_t growth_interval);

  // Any Dynamic scaler at its start. INVALID_SCALER names the offending field.
  static absl::StatusOr<LossScaler> Dynamic(const DynamicOptions& options);

  // A Dynamic scaler in the middle of its life. `options.initial_scale` is
  // replaced by `state.scale`: the value does not remember where it started.
  // INVALID_SCALER as above, or for a state that the options do not allow.
  static absl::StatusOr<LossScaler> Dynamic(const DynamicOptions& options,
                                            const DynamicState& state);

  bool is_none() const;
  bool is_static() const;
  bool is_dynamic() const;

  // "None", "Static" or "Dynamic".
  std::string_view kind() const;

  // The current scale; 1 for None.
  double scale() const;

  // kDivide unless a Dynamic scaler says otherwise.
  UnscaleArithmetic unscale_arithmetic() const;

  // loss * scale in float32. NaN and infinity pass through.
  float ScaleLoss(float loss) const;

  // gradient / scale in float32, or as unscale_arithmetic() says. The value
  // itself at scale 1.
  float Unscale(float gradient) const;

  // Takes the verdict of one step. None and Static never change.
  ScalerUpdate Update(bool overflow);

  // REQUIRES: is_dynamic(). initial_scale equals the current scale.
  DynamicOptions dynamic_options() const;
  const DynamicState& dynamic_state() const;

  // Whether both have the same kind and, apart from the state (scale and
  // counters of a Dynamic scaler), the same configuration. The scale of a
  // Static scaler is configuration.
  friend bool SameConfiguration(const LossScaler& a, const LossScaler& b);

  // For logs and test failures: Dynamic{scale: 1024, growth_factor: 2, ...},
  // naming only the knobs that differ from their defaults.
  std::string DebugString() const;
  friend std::ostream& operator<<(std::ostream& os, const LossScaler& scaler);

  friend bool operator==(const LossScaler&, const LossScaler&) = default;

 private:
  struct StaticValue {
    double scale = 1.0;
    friend bool operator==(const StaticValue&, const StaticValue&) = default;
  };
  struct DynamicValue {
    // initial_scale is kept at its default: it is not part of the value.
    DynamicOptions options;
    DynamicState state;
    friend bool operator==(const DynamicValue&, const DynamicValue&) = default;
  };

  // `scale_field` is what the caller calls the scale, for errors.
  static absl::StatusOr<LossScaler> Make(std::string_view scale_field,
                                         const DynamicOptions& options,
                                         const DynamicState& state);

  std::variant<std::monostate, StaticValue, DynamicValue> value_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_LOSS_SCALER_H_
