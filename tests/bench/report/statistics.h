// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Statistics of measurements.

#ifndef LOSSSCALER_TESTS_BENCH_REPORT_STATISTICS_H_
#define LOSSSCALER_TESTS_BENCH_REPORT_STATISTICS_H_

#include <vector>

namespace lossscaler::bench {

// The smallest of `values` that at least `share` of them do not exceed (the
// nearest rank). `values` is not empty, `share` in (0, 1].
double Percentile(std::vector<double> values, double share);

// The middle one of `values`, which is not empty; of an even number the mean of
// the middle two.
double Median(std::vector<double> values);

// (largest - smallest) / median: how far the rounds of a run are apart. Of a
// median of 0 the difference itself. `values` is not empty.
double Spread(const std::vector<double>& values);

// values[i] / floors[i]. Both have one size; no floor is 0.
std::vector<double> Ratios(const std::vector<double>& values,
                           const std::vector<double>& floors);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_REPORT_STATISTICS_H_
