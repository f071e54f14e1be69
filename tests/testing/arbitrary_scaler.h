// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// RapidCheck generators of LossScaler: any valid Dynamic scaler in any state,
// with a bias to the ends of each range.

#ifndef LOSSSCALER_TESTS_TESTING_ARBITRARY_SCALER_H_
#define LOSSSCALER_TESTS_TESTING_ARBITRARY_SCALER_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "lossscaler/core/loss_scaler.h"
#include "rapidcheck.h"

namespace lossscaler::testing {

// A double in [low, high], both positive: uniform in its bits, and often an
// end of the range or a power of two.
inline rc::Gen<double> PositiveDouble(double low, double high) {
  const auto low_bits = std::bit_cast<std::uint64_t>(low);
  const auto high_bits = std::bit_cast<std::uint64_t>(high);
  const rc::Gen<double> any = rc::gen::map(
      rc::gen::inRange(low_bits, high_bits),
      [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
  const rc::Gen<double> power = rc::gen::map(any, [low](double value) {
    const std::uint64_t exponent =
        std::bit_cast<std::uint64_t>(value) & 0xfff0000000000000u;
    return std::max(low, std::bit_cast<double>(exponent));
  });
  return rc::gen::oneOf(any, power, rc::gen::element(low, high));
}

inline rc::Gen<std::int64_t> Count(std::int64_t least) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(least, least + 5),
      rc::gen::inRange<std::int64_t>(least, most),
      rc::gen::elementOf(std::vector<std::int64_t>{least, most - 1, most}));
}

template <typename Enum>
rc::Gen<Enum> Enumerator(int count) {
  return rc::gen::map(rc::gen::inRange(0, count),
                      [](int index) { return static_cast<Enum>(index); });
}

inline LossScaler GenerateDynamic() {
  DynamicOptions options;
  std::array<double, 3> bounds;
  for (double& bound : bounds) bound = *PositiveDouble(kMinScale, kMaxScale);
  std::sort(bounds.begin(), bounds.end());
  if (*rc::gen::arbitrary<bool>()) options.min_scale = bounds[0];
  if (*rc::gen::arbitrary<bool>()) options.max_scale = bounds[2];
  // The nearest float32s beyond 1, and the end of their range.
  options.growth_factor =
      *rc::gen::oneOf(rc::gen::element(1.001, 1.5, 2.0, 4.0),
                      PositiveDouble(0x1.000002p0, kMaxScale));
  options.backoff_factor =
      *rc::gen::oneOf(rc::gen::element(0.7, 0.5, 0.25),
                      PositiveDouble(0x1p-149, 0x1.fffffep-1));
  options.growth_interval = *Count(1);
  options.hysteresis = *Count(1);
  options.hysteresis_refill = *Enumerator<HysteresisRefill>(3);
  options.growth_count = *Enumerator<GrowthCount>(3);
  options.precision = *Enumerator<StatePrecision>(3);
  options.finite_guard = *Enumerator<FiniteGuard>(2);
  options.unscale_arithmetic = *Enumerator<UnscaleArithmetic>(2);
  options.floor_action = *Enumerator<FloorAction>(2);
  options.max_consecutive_skips = *Count(0);
  DynamicState state;
  state.scale = bounds[1];
  state.steps_since_overflow = *Count(0);
  state.hysteresis_left = std::min(options.hysteresis, *Count(1));
  if (options.max_consecutive_skips > 0) state.consecutive_skips = *Count(0);
  const absl::StatusOr<LossScaler> scaler = LossScaler::Dynamic(options, state);
  RC_ASSERT(scaler.ok());
  return *scaler;
}

inline rc::Gen<LossScaler> AnyDynamic() {
  return rc::gen::exec([] { return GenerateDynamic(); });
}

inline rc::Gen<LossScaler> AnyConstant() {
  return rc::gen::oneOf(
      rc::gen::just(LossScaler::None()),
      rc::gen::map(PositiveDouble(kMinScale, kMaxScale), [](double scale) {
        return LossScaler::Static(scale).value();
      }));
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_ARBITRARY_SCALER_H_
