// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

// Rows of the form | `REASON` | CODE | ... of the RPC reference.
std::map<std::string, std::string> DocumentedReasons() {
  std::ifstream file(LOSSSCALER_TEST_DATA "/../../proto/README.md");
  EXPECT_TRUE(file.is_open());
  const std::regex row(R"(^\| `([A-Z_]+)` \| ([A-Z_]+) \| .+ \|$)");
  std::map<std::string, std::string> reasons;
  std::string line;
  std::smatch match;
  while (std::getline(file, line)) {
    if (std::regex_match(line, match, row)) reasons[match[1]] = match[2];
  }
  return reasons;
}

TEST(ReasonTable, TheReferenceListsEveryReasonWithItsCode) {
  std::map<std::string, std::string> reasons;
  for (const Reason reason : AllReasons()) {
    reasons[std::string(ReasonName(reason))] =
        absl::StatusCodeToString(CodeOf(reason));
  }
  EXPECT_EQ(DocumentedReasons(), reasons);
}

}  // namespace
}  // namespace lossscaler
