// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lossscaler::bench {

double Percentile(std::vector<double> values, double share) {
  const auto rank = static_cast<std::size_t>(
      std::ceil(share * static_cast<double>(values.size())));
  const auto nth =
      values.begin() + static_cast<std::ptrdiff_t>(
                           std::clamp(rank, std::size_t{1}, values.size()) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return values[half];
  return (values[half - 1] + values[half]) / 2;
}

double Spread(const std::vector<double>& values) {
  const auto [smallest, largest] =
      std::minmax_element(values.begin(), values.end());
  const double median = Median(values);
  const double range = *largest - *smallest;
  return median == 0 ? range : range / std::abs(median);
}

std::vector<double> Ratios(const std::vector<double>& values,
                           const std::vector<double>& floors) {
  std::vector<double> ratios;
  ratios.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ratios.push_back(values[i] / floors[i]);
  }
  return ratios;
}

}  // namespace lossscaler::bench
