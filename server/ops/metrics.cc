// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/metrics.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/call_metrics.h"
#include "ops/sampled_metrics.h"
#include "ops/session_metrics.h"
#include "ops/session_series_metrics.h"
#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

namespace lossscaler::server {
namespace {

// From memory's 10 us to a disk that is about to be given up.
const prometheus::Histogram::BucketBoundaries kWriteSeconds = {
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001,
    0.0025,  0.005,    0.01,    0.025,  0.05,    0.1,    0.25,
    0.5,     1,        2.5,     5,      10};

// So that two texts can be compared.
void Sort(std::vector<prometheus::MetricFamily>* families) {
  std::sort(families->begin(), families->end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (prometheus::MetricFamily& family : *families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
}

}  // namespace

struct Metrics::Parts {
  explicit Parts(MetricsOptions given)
      : options(std::move(given)),
        series(options.sessions
                   ? std::make_unique<SessionSeries>(kMaxSessionSeries)
                   : nullptr),
        calls(&registry),
        sessions(&registry, series.get()),
        writes(prometheus::BuildHistogram()
                   .Name("lossscaler_store_write_seconds")
                   .Help("Seconds from handing a write to the store to its "
                         "answer.")
                   .Register(registry)
                   .Add({}, kWriteSeconds)),
        failures(prometheus::BuildCounter()
                     .Name("lossscaler_store_write_failures_total")
                     .Help("Writes that the store did not make, or of which it "
                           "does not know.")
                     .Register(registry)
                     .Add({})) {}

  const MetricsOptions options;
  prometheus::Registry registry;
  const std::unique_ptr<SessionSeries> series;
  CallMetrics calls;
  SessionMetrics sessions;
  prometheus::Histogram& writes;
  prometheus::Counter& failures;
};

Metrics::Metrics(MetricsOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}

Metrics::~Metrics() = default;

CallObserver& Metrics::calls() { return parts_->calls; }

SessionObserver& Metrics::sessions() { return parts_->sessions; }

void Metrics::OnStoreWrite(absl::Duration took, bool done) {
  parts_->writes.Observe(absl::ToDoubleSeconds(took));
  if (!done) parts_->failures.Increment();
}

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = parts_->registry.Collect();
  const auto add = [&families](std::vector<prometheus::MetricFamily> more) {
    std::move(more.begin(), more.end(), std::back_inserter(families));
  };
  add(ServerFamilies(parts_->options));
  add(SampleFamilies(parts_->options.sample()));
  add(ProcessFamilies());
  if (parts_->series != nullptr) add(parts_->series->Collect());
  Sort(&families);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace lossscaler::server
