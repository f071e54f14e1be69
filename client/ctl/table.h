// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_TABLE_H_
#define LOSSSCALER_CTL_TABLE_H_

#include <string>
#include <vector>

namespace lossscaler::ctl {

using Row = std::vector<std::string>;

// A line for each row, in columns as wide as their widest cell, two spaces
// apart. Cells are written by OneLine(): they may hold what a server sent.
//
// Thread safety: a free function without state.
std::string Table(const std::vector<Row>& rows);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_TABLE_H_
