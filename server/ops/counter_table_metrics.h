// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CounterTable: the counters of a family with two labels, found by two numbers
// instead of by their text.
//
// A counter is made when it is first needed, since most pairs of labels never
// come up.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_OPS_COUNTER_TABLE_METRICS_H_
#define LOSSSCALER_SERVER_OPS_COUNTER_TABLE_METRICS_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/labels.h"

namespace lossscaler::server {

class CounterTable {
 public:
  using LabelsOf =
      std::function<prometheus::Labels(std::size_t row, std::size_t column)>;

  // `family` outlives this.
  CounterTable(prometheus::Family<prometheus::Counter>* family,
               std::size_t rows, std::size_t columns, LabelsOf labels_of);

  // REQUIRES: row < rows, column < columns.
  prometheus::Counter& At(std::size_t row, std::size_t column);

 private:
  prometheus::Family<prometheus::Counter>* const family_;
  const std::size_t columns_;
  const LabelsOf labels_of_;
  std::vector<std::atomic<prometheus::Counter*>> counters_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_COUNTER_TABLE_METRICS_H_
