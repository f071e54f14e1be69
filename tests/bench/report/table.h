// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Table: columns of text for a terminal.

#ifndef LOSSSCALER_TESTS_BENCH_REPORT_TABLE_H_
#define LOSSSCALER_TESTS_BENCH_REPORT_TABLE_H_

#include <string>
#include <vector>

#include "bench/report/row.h"

namespace lossscaler::bench {

class Table {
 public:
  explicit Table(std::vector<std::string> heading);

  // As many cells as the heading has.
  void Add(std::vector<std::string> cells);

  // One line each; the first column is aligned left, numbers right.
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

// Three significant digits, none of them after the point from 100 on: "0.931",
// "1.24", "57.3", "1309".
std::string Figures(double number);

// Every column of Row, one line each; those of `cpu` if a row has it.
Table TableOf(const std::vector<Row>& rows);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_REPORT_TABLE_H_
