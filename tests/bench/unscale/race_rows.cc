// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/report/statistics.h"
#include "bench/report/table.h"
#include "bench/unscale/race.h"

namespace lossscaler::bench {
namespace {

// At least so many times the speed of another.
std::optional<double> SpeedTarget(const RaceOptions& options,
                                  std::string_view floor) {
  if (!options.has_targets()) return std::nullopt;
  if (floor == kEcho) return 0.90;
  if (floor == kPlain) return 1.5;
  if (floor == kSink) {
    return options.transport == Transport::kTcp ? 0.75 : 0.85;
  }
  return std::nullopt;
}

// At most so many times the other's processor time of the server.
constexpr double kMostServerCpu = 1.20;

std::string SizeName(std::size_t bytes) {
  const std::size_t kib = bytes >> 10;
  return kib % 1024 == 0 ? absl::StrCat(kib >> 10, "MiB")
                         : absl::StrCat(kib, "KiB");
}

std::string CaseName(const RaceOptions& options) {
  return absl::StrCat("unscale/", options.check_only ? "check" : "return", "/",
                      std::string(TransportName(options.transport)), "/",
                      SizeName(options.chunk_bytes), "/x", options.streams);
}

CpuCost CostOf(const RaceResult& race, std::string_view name) {
  return {.unit = "ns/byte",
          .server = Median(race.Of(name, &RoundResult::server_ns_per_byte)),
          .client = Median(race.Of(name, &RoundResult::client_ns_per_byte))};
}

}  // namespace

std::vector<Row> Rows(const RaceResult& race) {
  const std::string name = CaseName(race.options) + "/";
  std::vector<Row> rows;
  for (const std::string& other : race.names) {
    if (other == kLibrary) continue;
    Row row = ComparedRow(name + "speed/to/" + other, "GB/s",
                          race.Of(kLibrary, &RoundResult::gigabytes_per_second),
                          race.Of(other, &RoundResult::gigabytes_per_second),
                          SpeedTarget(race.options, other), Goal::kAtLeast);
    row.cpu = CostOf(race, kLibrary);
    rows.push_back(std::move(row));
    Row floor = AbsoluteRow(name + other, "GB/s",
                            race.Of(other, &RoundResult::gigabytes_per_second));
    floor.cpu = CostOf(race, other);
    rows.push_back(std::move(floor));
  }
  if (race.options.has_targets() && !race.options.check_only) {
    rows.push_back(ComparedRow(
        absl::StrCat(name, "server-cpu/to/", std::string(kEcho)), "ns/byte",
        race.Of(kLibrary, &RoundResult::server_ns_per_byte),
        race.Of(kEcho, &RoundResult::server_ns_per_byte), kMostServerCpu));
  }
  return rows;
}

std::string Overview(const RaceResult& race) {
  Table table({CaseName(race.options), "GB/s", "spread", "server ns/byte",
               "client ns/byte", "library/this", "spread"});
  const std::vector<double> ours =
      race.Of(kLibrary, &RoundResult::gigabytes_per_second);
  for (const std::string& name : race.names) {
    const std::vector<double> speeds =
        race.Of(name, &RoundResult::gigabytes_per_second);
    const std::vector<double> ratios = Ratios(ours, speeds);
    const CpuCost cost = CostOf(race, name);
    const bool self = name == kLibrary;
    table.Add({name, Figures(Median(speeds)), Figures(Spread(speeds)),
               Figures(cost.server), Figures(cost.client),
               self ? "" : Figures(Median(ratios)),
               self ? "" : Figures(Spread(ratios))});
  }
  return table.ToString();
}

}  // namespace lossscaler::bench
