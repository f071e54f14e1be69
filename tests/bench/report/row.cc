// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/row.h"

#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "bench/report/statistics.h"
#include "nlohmann/json.hpp"

namespace lossscaler::bench {
namespace {

nlohmann::ordered_json NumberOrNull(const std::optional<double>& number) {
  if (!number) return nullptr;
  return *number;
}

nlohmann::ordered_json ToJson(const Row& row) {
  nlohmann::ordered_json json = {{"name", row.name},
                                 {"unit", row.unit},
                                 {"value", row.value},
                                 {"floor", NumberOrNull(row.floor)},
                                 {"ratio", NumberOrNull(row.ratio)},
                                 {"spread", row.spread}};
  if (row.target) {
    json["target"] = *row.target;
    json["met"] = *row.met();
  }
  if (row.cpu) {
    json["server_cpu"] = row.cpu->server;
    json["client_cpu"] = row.cpu->client;
    json["cpu_unit"] = row.cpu->unit;
  }
  return json;
}

}  // namespace

std::optional<bool> Row::met() const {
  if (!target) return std::nullopt;
  const double reached = ratio.value_or(value);
  return goal == Goal::kAtMost ? reached <= *target : reached >= *target;
}

Row ComparedRow(std::string name, std::string unit,
                const std::vector<double>& values,
                const std::vector<double>& floors, std::optional<double> target,
                Goal goal) {
  const std::vector<double> ratios = Ratios(values, floors);
  return {.name = std::move(name),
          .unit = std::move(unit),
          .value = Median(values),
          .floor = Median(floors),
          .ratio = Median(ratios),
          .spread = Spread(ratios),
          .target = target,
          .goal = goal};
}

Row AbsoluteRow(std::string name, std::string unit,
                const std::vector<double>& values,
                std::optional<double> target) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .value = Median(values),
          .floor = std::nullopt,
          .ratio = std::nullopt,
          .spread = Spread(values),
          .target = target};
}

std::string RowsToJson(const std::vector<Row>& rows) {
  std::string text = "[";
  for (const Row& row : rows) {
    text += (text.size() == 1 ? "\n " : ",\n ") + ToJson(row).dump();
  }
  return text + "\n]\n";
}

absl::Status WriteRows(const std::vector<Row>& rows, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path);
  file << RowsToJson(rows);
  file.close();
  return file ? absl::OkStatus()
              : absl::UnavailableError("cannot write " + path);
}

}  // namespace lossscaler::bench
