// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/flood/race.h"
#include "bench/report/statistics.h"
#include "bench/report/table.h"

namespace lossscaler::bench {
namespace {

// So many times as long as while nobody else calls.
constexpr double kMostDelay = 5;

struct Kind {
  std::string_view name;
  Latency RoundResult::*quiet;
  Latency RoundResult::*flooded;
};

constexpr Kind kKinds[] = {
    {"update", &RoundResult::quiet_update, &RoundResult::flooded_update},
    {"vote", &RoundResult::quiet_vote, &RoundResult::flooded_vote}};

std::vector<double> Of(const std::vector<RoundResult>& rounds,
                       Latency RoundResult::*latency, double Latency::*figure) {
  std::vector<double> figures;
  for (const RoundResult& round : rounds) {
    figures.push_back(round.*latency.*figure);
  }
  return figures;
}

double MedianOf(const std::vector<RoundResult>& rounds,
                double RoundResult::*figure) {
  std::vector<double> figures;
  for (const RoundResult& round : rounds) figures.push_back(round.*figure);
  return Median(figures);
}

}  // namespace

std::vector<Row> Rows(const std::vector<RoundResult>& rounds) {
  std::vector<Row> rows;
  for (const Kind& kind : kKinds) {
    rows.push_back(ComparedRow(
        absl::StrCat("flood/tcp/", std::string(kind.name), "/p99/to/quiet"),
        "us", Of(rounds, kind.flooded, &Latency::p99),
        Of(rounds, kind.quiet, &Latency::p99), kMostDelay, Goal::kAtMost));
  }
  return rows;
}

std::string Overview(const std::vector<RoundResult>& rounds) {
  Table table({"flood/tcp", "quiet p50 us", "quiet p99 us", "flood p50 us",
               "flood p99 us", "p99 x quiet", "spread"});
  for (const Kind& kind : kKinds) {
    const std::vector<double> ratios =
        Ratios(Of(rounds, kind.flooded, &Latency::p99),
               Of(rounds, kind.quiet, &Latency::p99));
    table.Add({std::string(kind.name),
               Figures(Median(Of(rounds, kind.quiet, &Latency::p50))),
               Figures(Median(Of(rounds, kind.quiet, &Latency::p99))),
               Figures(Median(Of(rounds, kind.flooded, &Latency::p50))),
               Figures(Median(Of(rounds, kind.flooded, &Latency::p99))),
               Figures(Median(ratios)), Figures(Spread(ratios))});
  }
  return absl::StrCat(
      table.ToString(), "the flood: ",
      Figures(MedianOf(rounds, &RoundResult::refused_per_second)),
      " calls a second that were refused, ",
      Figures(MedianOf(rounds, &RoundResult::answered_per_second)),
      " that were answered\n");
}

}  // namespace lossscaler::bench
