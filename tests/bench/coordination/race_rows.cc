// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/coordination/contestants.h"
#include "bench/coordination/race.h"
#include "bench/report/statistics.h"
#include "bench/report/table.h"

namespace lossscaler::bench {
namespace {

constexpr std::array kSizes = {2, 4, 8, 16, 32};

// The p50 of one contestant is at most so many times that of another, for the
// group sizes of kSizes; 0: no target.
struct Target {
  std::string_view name;
  std::string_view floor;
  std::array<double, kSizes.size()> at_most;
};

constexpr Target kTargets[] = {
    {"memory/unix", kRedis, {1.2, 1.2, 1.2, 1.2, 1.2}},
    {"relaxed/unix", kRedis, {1.9, 1.9, 1.5, 1.4, 1.25}},
    {"full/unix", kRedisAlways, {0.9, 0.9, 1.2, 1.2, 1.2}},
    {"memory/unix", kGloo, {0, 0.8, 0.8, 0.8, 0.8}},
};

std::optional<double> AtMost(const Target& target, int workers) {
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    if (kSizes[i] == workers && target.at_most[i] > 0) return target.at_most[i];
  }
  return std::nullopt;
}

struct Figure {
  std::string_view name;
  std::string_view unit;
  double RoundResult::*of;
};

constexpr Figure kFigures[] = {
    {"p50", "us", &RoundResult::p50},
    {"p99", "us", &RoundResult::p99},
    {"decisions", "1/s", &RoundResult::decisions_per_second},
};

std::string RowName(const RaceResult& race, std::string_view contestant,
                    std::string_view figure) {
  return absl::StrCat("coordination/w", race.workers, "/",
                      std::string(contestant), "/", std::string(figure));
}

}  // namespace

std::vector<Row> MeasuredRows(const RaceResult& race) {
  std::vector<Row> rows;
  for (const std::string& name : race.names) {
    for (const Figure& figure : kFigures) {
      const std::string row = RowName(race, name, figure.name);
      const std::string unit(figure.unit);
      const std::vector<double> values = race.Of(name, figure.of);
      const std::vector<double> floors = race.Of(kBare, figure.of);
      rows.push_back(name == kBare || floors.empty()
                         ? AbsoluteRow(row, unit, values)
                         : ComparedRow(row, unit, values, floors));
    }
  }
  return rows;
}

std::vector<Row> TargetRows(const RaceResult& race) {
  std::vector<Row> rows;
  for (const Target& target : kTargets) {
    const std::vector<double> values = race.Of(target.name, &RoundResult::p50);
    const std::vector<double> floors = race.Of(target.floor, &RoundResult::p50);
    const std::optional<double> at_most = AtMost(target, race.workers);
    if (values.empty() || floors.empty() || !at_most) continue;
    rows.push_back(ComparedRow(absl::StrCat(RowName(race, target.name, "p50"),
                                            "/to/", std::string(target.floor)),
                               "us", values, floors, at_most));
  }
  return rows;
}

std::string Overview(const RaceResult& race) {
  Table table({absl::StrCat(race.workers, " workers"), "p50 us", "p99 us",
               "decisions/s", "x bare", "x redis", "x gloo", "spread"});
  for (const std::string& name : race.names) {
    const std::vector<double> p50 = race.Of(name, &RoundResult::p50);
    const auto times = [&](std::string_view other) -> std::string {
      const std::vector<double> floors = race.Of(other, &RoundResult::p50);
      return floors.empty() ? "-" : Figures(Median(Ratios(p50, floors)));
    };
    table.Add(
        {name, Figures(Median(p50)),
         Figures(Median(race.Of(name, &RoundResult::p99))),
         Figures(Median(race.Of(name, &RoundResult::decisions_per_second))),
         times(kBare), times(kRedis), times(kGloo), Figures(Spread(p50))});
  }
  return table.ToString();
}

}  // namespace lossscaler::bench
