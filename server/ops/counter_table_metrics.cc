// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/counter_table_metrics.h"

#include <utility>

namespace lossscaler::server {

CounterTable::CounterTable(prometheus::Family<prometheus::Counter>* family,
                           std::size_t rows, std::size_t columns,
                           LabelsOf labels_of)
    : family_(family),
      columns_(columns),
      labels_of_(std::move(labels_of)),
      counters_(rows * columns) {}

prometheus::Counter& CounterTable::At(std::size_t row, std::size_t column) {
  std::atomic<prometheus::Counter*>& slot = counters_[row * columns_ + column];
  prometheus::Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    // Two threads may come here at once: a family gives both the same one.
    counter = &family_->Add(labels_of_(row, column));
    slot.store(counter, std::memory_order_release);
  }
  return *counter;
}

}  // namespace lossscaler::server
