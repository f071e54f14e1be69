// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"

namespace lossscaler::bench {
namespace {

constexpr std::size_t kGap = 2;

std::string FiguresOrNothing(const std::optional<double>& number) {
  return number ? Figures(*number) : "";
}

std::string Verdict(const std::optional<bool>& met) {
  if (!met) return "";
  return *met ? "yes" : "NO";
}

}  // namespace

std::string Figures(double number) {
  const double size = std::abs(number);
  if (size >= 99.95) return absl::StrFormat("%.0f", number);
  if (size >= 9.995) return absl::StrFormat("%.1f", number);
  if (size >= 0.9995) return absl::StrFormat("%.2f", number);
  return absl::StrFormat("%.3f", number);
}

Table::Table(std::vector<std::string> heading) {
  lines_.push_back(std::move(heading));
}

void Table::Add(std::vector<std::string> cells) {
  lines_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<std::size_t> widths(lines_.front().size(), 0);
  for (const std::vector<std::string>& line : lines_) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines_) {
    text += line[0];
    std::size_t end = widths[0];
    std::size_t written = line[0].size();
    for (std::size_t i = 1; i < line.size(); ++i) {
      end += kGap + widths[i];
      if (line[i].empty()) continue;
      text.append(end - line[i].size() - written, ' ');
      text += line[i];
      written = end;
    }
    text += '\n';
  }
  return text;
}

Table TableOf(const std::vector<Row>& rows) {
  const bool cpu = std::any_of(rows.begin(), rows.end(),
                               [](const Row& row) { return row.cpu; });
  std::vector<std::string> heading = {"",      "unit",   "value",  "floor",
                                      "ratio", "spread", "target", "met"};
  if (cpu) heading.insert(heading.end(), {"server cpu", "client cpu", ""});
  Table table(std::move(heading));
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.name,
                                      row.unit,
                                      Figures(row.value),
                                      FiguresOrNothing(row.floor),
                                      FiguresOrNothing(row.ratio),
                                      Figures(row.spread),
                                      FiguresOrNothing(row.target),
                                      Verdict(row.met())};
    if (row.cpu) {
      cells.insert(cells.end(), {Figures(row.cpu->server),
                                 Figures(row.cpu->client), row.cpu->unit});
    }
    cells.resize(cpu ? 11 : 8);
    table.Add(std::move(cells));
  }
  return table;
}

}  // namespace lossscaler::bench
