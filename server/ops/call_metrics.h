// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CallMetrics: counts and times calls, by method.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_OPS_CALL_METRICS_H_
#define LOSSSCALER_SERVER_OPS_CALL_METRICS_H_

#include <array>

#include "ops/call_record.h"
#include "ops/counter_table_metrics.h"
#include "ops/method.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace lossscaler::server {

class CallMetrics final : public CallObserver {
 public:
  // `registry` outlives this.
  explicit CallMetrics(prometheus::Registry* registry);

  void OnCallEnd(const CallRecord& call) override;

 private:
  CounterTable calls_;
  CounterTable errors_;
  std::array<prometheus::Histogram*, kAllMethods.size()> durations_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CALL_METRICS_H_
