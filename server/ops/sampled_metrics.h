// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Families whose values are asked for when the text is written, and kept by
// nobody.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_SAMPLED_METRICS_H_
#define LOSSSCALER_SERVER_OPS_SAMPLED_METRICS_H_

#include <string>
#include <utility>
#include <vector>

#include "ops/metrics.h"
#include "prometheus/metric_family.h"

namespace lossscaler::server {

// One gauge without labels.
prometheus::MetricFamily GaugeFamily(std::string name, std::string help,
                                     double value);

// A gauge for each value of `label`.
prometheus::MetricFamily GaugeFamily(
    std::string name, std::string help, const std::string& label,
    const std::vector<std::pair<std::string, double>>& values);

// Of the server, and its limits.
std::vector<prometheus::MetricFamily> ServerFamilies(
    const MetricsOptions& options);

// Of what happens now.
std::vector<prometheus::MetricFamily> SampleFamilies(
    const MetricsSample& sample);

// Of the process, as its kernel sees it; without those that it does not tell.
std::vector<prometheus::MetricFamily> ProcessFamilies();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SAMPLED_METRICS_H_
