// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/sampled_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace lossscaler::server {
namespace {

prometheus::MetricFamily Family(std::string name, std::string help,
                                prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

void AddGauge(double value, std::vector<prometheus::ClientMetric::Label> labels,
              prometheus::MetricFamily* family) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family->metric.push_back(std::move(metric));
}

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
             1e-6;
}

// A counter for each value of `label`; one without if that is empty.
prometheus::MetricFamily CounterFamily(
    std::string name, std::string help, const std::string& label,
    const std::vector<std::pair<std::string, double>>& values) {
  prometheus::MetricFamily family =
      Family(std::move(name), std::move(help), prometheus::MetricType::Counter);
  for (const auto& [text, value] : values) {
    prometheus::ClientMetric metric;
    if (!label.empty()) metric.label = {{label, text}};
    metric.counter.value = value;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

prometheus::MetricFamily GaugeFamily(std::string name, std::string help,
                                     double value) {
  prometheus::MetricFamily family =
      Family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  AddGauge(value, {}, &family);
  return family;
}

prometheus::MetricFamily GaugeFamily(
    std::string name, std::string help, const std::string& label,
    const std::vector<std::pair<std::string, double>>& values) {
  prometheus::MetricFamily family =
      Family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  family.metric.reserve(values.size());
  for (const auto& [text, value] : values) {
    AddGauge(value, {{label, text}}, &family);
  }
  return family;
}

std::vector<prometheus::MetricFamily> ServerFamilies(
    const MetricsOptions& options) {
  const Limits& limits = options.limits;
  return {
      GaugeFamily("lossscaler_build_info", "1; the label says which version.",
                  "version", {{options.version, 1}}),
      GaugeFamily(
          "lossscaler_start_time_seconds",
          "Unix time at which the server started in seconds.",
          absl::ToDoubleSeconds(options.start_time - absl::UnixEpoch())),
      GaugeFamily("lossscaler_starts",
                  "How often the store was opened, this time included.",
                  static_cast<double>(options.start_count)),
      GaugeFamily(
          "lossscaler_limit", "The most there may be at one time, by name.",
          "name",
          {{"sessions", static_cast<double>(limits.max_sessions)},
           {"unscale_streams", static_cast<double>(limits.max_unscale_streams)},
           {"bytes_in_flight", static_cast<double>(limits.max_bytes_in_flight)},
           {"open_calls", static_cast<double>(limits.max_open_calls)},
           {"watch_streams", static_cast<double>(limits.max_watch_streams)}}),
  };
}

std::vector<prometheus::MetricFamily> SampleFamilies(
    const MetricsSample& sample) {
  std::vector<prometheus::MetricFamily> families = {
      GaugeFamily("lossscaler_rpc_open_calls", "Calls that are open.",
                  static_cast<double>(sample.open_calls)),
      GaugeFamily("lossscaler_unscale_streams",
                  "Unscale streams that are open.",
                  static_cast<double>(sample.unscale_streams)),
      GaugeFamily("lossscaler_bytes_in_flight",
                  "Bytes of memory that open Unscale streams have reserved.",
                  static_cast<double>(sample.bytes_in_flight)),
      GaugeFamily("lossscaler_store_healthy",
                  "1 if the store was in order when it was last looked at, "
                  "else 0.",
                  sample.store_healthy ? 1 : 0),
      GaugeFamily("lossscaler_watch_streams",
                  "WatchSession streams that are open.",
                  static_cast<double>(sample.watch_streams)),
      CounterFamily("lossscaler_connections_refused_total",
                    "Connections that were ended at once because no file was "
                    "left for them.",
                    "",
                    {{"", static_cast<double>(sample.refused_connections)}}),
      CounterFamily(
          "lossscaler_reload_failures_total",
          "Changed files that could not take the place of those in force.",
          "what",
          {{"tls", static_cast<double>(sample.failed_tls_reloads)},
           {"tokens", static_cast<double>(sample.failed_token_reloads)}}),
  };
  if (sample.certificate_expiry) {
    families.push_back(GaugeFamily(
        "lossscaler_tls_certificate_expiry_timestamp_seconds",
        "Unix time at which the server's certificate ends in seconds.",
        absl::ToDoubleSeconds(*sample.certificate_expiry - absl::UnixEpoch())));
  }
  return families;
}

std::vector<prometheus::MetricFamily> ProcessFamilies() {
  std::vector<prometheus::MetricFamily> families;

  // In pages: all, resident.
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  if (statm >> all >> resident) {
    families.push_back(
        GaugeFamily("process_resident_memory_bytes",
                    "Bytes of memory that the process has.",
                    static_cast<double>(resident) *
                        static_cast<double>(sysconf(_SC_PAGESIZE))));
  }

  prometheus::MetricFamily processor =
      Family("process_cpu_seconds_total",
             "Seconds of processor time that the process has used.",
             prometheus::MetricType::Counter);
  prometheus::ClientMetric seconds;
  seconds.counter.value = ProcessorSeconds();
  processor.metric.push_back(seconds);
  families.push_back(std::move(processor));

  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (!error) {
    // One of them is that of the folder itself.
    families.push_back(GaugeFamily(
        "process_open_fds", "Files and sockets that the process has open.",
        static_cast<double>(std::distance(begin(files), end(files)) - 1)));
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  families.push_back(GaugeFamily(
      "process_max_fds", "Files and sockets that the process may have open.",
      static_cast<double>(limit.rlim_cur)));
  return families;
}

}  // namespace lossscaler::server
