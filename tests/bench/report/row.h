// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Row: one result of a benchmark, as people and machines read it.

#ifndef LOSSSCALER_TESTS_BENCH_REPORT_ROW_H_
#define LOSSSCALER_TESTS_BENCH_REPORT_ROW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lossscaler::bench {

// Which side of its target a row should be on.
enum class Goal { kAtMost, kAtLeast };

// Processor time, all threads together: what was measured costs it at each end.
struct CpuCost {
  // "ns/byte" or "us/call".
  std::string unit;
  double server = 0;
  double client = 0;
};

struct Row {
  std::string name;
  std::string unit;
  // Medians over the rounds; `floor` is what the value is compared with, in the
  // same unit and the same rounds.
  double value = 0;
  std::optional<double> floor;
  // Median of the ratios of each round, not the ratio of the medians.
  std::optional<double> ratio;
  // How far the rounds are apart: of the ratio, or of the value where there is
  // none. See Spread().
  double spread = 0;
  // The most or the least that the ratio, or the value where there is no ratio,
  // may be.
  std::optional<double> target;
  Goal goal = Goal::kAtMost;
  // What `value` took; medians as well. nullopt where it is not measured.
  std::optional<CpuCost> cpu = std::nullopt;

  // Whether the target is met; nullopt without one.
  std::optional<bool> met() const;
};

// `values` and `floors` are of the same rounds, in order.
Row ComparedRow(std::string name, std::string unit,
                const std::vector<double>& values,
                const std::vector<double>& floors,
                std::optional<double> target = std::nullopt,
                Goal goal = Goal::kAtMost);

// There is nothing to compare `values` with.
Row AbsoluteRow(std::string name, std::string unit,
                const std::vector<double>& values,
                std::optional<double> target = std::nullopt);

// An array of {name, unit, value, floor, ratio, spread, target, met,
// server_cpu, client_cpu, cpu_unit}, one row a line; floor and ratio are null
// where there are none. A row without a target has neither target nor met, one
// without `cpu` none of the last three.
std::string RowsToJson(const std::vector<Row>& rows);

// Writes that into a file; an empty path is none, and nothing to do.
absl::Status WriteRows(const std::vector<Row>& rows, const std::string& path);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_REPORT_ROW_H_
