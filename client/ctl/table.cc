// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "ctl/one_line.h"

namespace lossscaler::ctl {

std::string Table(const std::vector<Row>& given) {
  std::vector<Row> rows = given;
  for (Row& row : rows) {
    for (std::string& cell : row) cell = OneLine(cell);
  }
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    absl::StripTrailingAsciiWhitespace(&line);
    text += line + '\n';
  }
  return text;
}

}  // namespace lossscaler::ctl
