// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/calls/race.h"
#include "bench/report/statistics.h"
#include "bench/report/table.h"

namespace lossscaler::bench {
namespace {

// Of ScaleLoss with many callers: so many times the calls of the ping.
constexpr double kLeastThroughput = 0.85;

struct Figure {
  std::string_view name;
  std::string_view unit;
  double RoundResult::*of;
};

constexpr Figure kLatency = {"p50", "us", &RoundResult::p50};
constexpr Figure kThroughput = {"throughput", "1/s",
                                &RoundResult::calls_per_second};

std::string CaseName(const RaceOptions& options) {
  return absl::StrCat("calls/", std::string(TransportName(options.transport)),
                      "/x", options.callers);
}

CpuCost CostOf(const RaceResult& race, std::string_view name) {
  return {.unit = "us/call",
          .server = Median(race.Of(name, &RoundResult::server_us_per_call)),
          .client = Median(race.Of(name, &RoundResult::client_us_per_call))};
}

}  // namespace

std::vector<Row> Rows(const RaceResult& race) {
  const Figure figure = race.options.callers == 1 ? kLatency : kThroughput;
  const std::vector<double> floors = race.Of(kPing, figure.of);
  std::vector<Row> rows;
  for (const std::string& name : race.names) {
    const std::string row_name = absl::StrCat(CaseName(race.options), "/", name,
                                              "/", std::string(figure.name));
    const std::string unit(figure.unit);
    const bool aimed = name == kScaleLoss && race.options.callers > 1;
    Row row = name == kPing
                  ? AbsoluteRow(row_name, unit, floors)
                  : ComparedRow(
                        row_name + "/to/" + std::string(kPing), unit,
                        race.Of(name, figure.of), floors,
                        aimed ? std::optional(kLeastThroughput) : std::nullopt,
                        Goal::kAtLeast);
    row.cpu = CostOf(race, name);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Overview(const RaceResult& race) {
  Table table({CaseName(race.options), "p50 us", "p99 us", "calls/s", "spread",
               "server us/call", "client us/call", "calls x ping", "spread"});
  const std::vector<double> pings =
      race.Of(kPing, &RoundResult::calls_per_second);
  for (const std::string& name : race.names) {
    const std::vector<double> speeds =
        race.Of(name, &RoundResult::calls_per_second);
    const std::vector<double> ratios = Ratios(speeds, pings);
    const CpuCost cost = CostOf(race, name);
    table.Add({name, Figures(Median(race.Of(name, &RoundResult::p50))),
               Figures(Median(race.Of(name, &RoundResult::p99))),
               Figures(Median(speeds)), Figures(Spread(speeds)),
               Figures(cost.server), Figures(cost.client),
               Figures(Median(ratios)), Figures(Spread(ratios))});
  }
  return table.ToString();
}

}  // namespace lossscaler::bench
