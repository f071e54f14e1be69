// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kReference[] = LOSSSCALER_TEST_DATA "/../../proto/README.md";
constexpr char kService[] =
    LOSSSCALER_TEST_DATA "/../../proto/lossscaler/v1/loss_scaler_service.proto";

// Rows of the form | `REASON` | CODE | ... of the RPC reference.
std::map<std::string, std::string> DocumentedReasons() {
  std::ifstream file(kReference);
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

// The names of reasons in a text.
std::set<std::string> ReasonsIn(const std::string& text) {
  static const std::regex word("[A-Z_]+");
  std::set<std::string> all;
  for (const Reason reason : AllReasons()) {
    all.insert(std::string(ReasonName(reason)));
  }
  std::set<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end;
       ++i) {
    if (all.contains(i->str())) found.insert(i->str());
  }
  return found;
}

using ReasonsByCall = std::map<std::string, std::set<std::string>>;

// What the comment of each rpc lists, and under "" what the service does.
ReasonsByCall ReasonsInComments() {
  std::ifstream file(kService);
  EXPECT_TRUE(file.is_open());
  const std::regex rpc(R"(^  rpc (\w+)\(.*)");
  ReasonsByCall reasons;
  std::string comment;
  std::string line;
  std::smatch match;
  while (std::getline(file, line)) {
    if (line.find("//") != std::string::npos) {
      comment += line + "\n";
    } else if (line.starts_with("syntax")) {
      reasons[""] = ReasonsIn(comment);
      comment.clear();
    } else if (std::regex_match(line, match, rpc)) {
      reasons[match[1]] = ReasonsIn(comment);
      comment.clear();
    } else if (line == "}") {
      break;
    }
  }
  return reasons;
}

// What the tables below each heading of a call list.
ReasonsByCall ReasonsInTables() {
  std::ifstream file(kReference);
  EXPECT_TRUE(file.is_open());
  const std::regex heading("^### (\\w+)$");
  const std::regex row(R"(^\| (`[A-Z_]+`(, )?)+ \| [^|]+ \|$)");
  ReasonsByCall reasons;
  std::string call;
  std::string line;
  std::smatch match;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) {
      call.clear();
    } else if (std::regex_match(line, match, heading)) {
      call = match[1];
      reasons[call];
    } else if (line.starts_with("### ")) {
      call.clear();  // Of every call.
    } else if (std::regex_match(line, row)) {
      reasons[call].merge(ReasonsIn(line.substr(0, line.rfind(" | "))));
    }
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

TEST(ReasonTable, TheReferenceListsWhatTheCommentOfEachCallLists) {
  const ReasonsByCall comments = ReasonsInComments();
  ASSERT_THAT(comments.at(""), Not(IsEmpty()));
  EXPECT_EQ(ReasonsInTables(), comments);
}

}  // namespace
}  // namespace lossscaler
