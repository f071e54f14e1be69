// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The table of events in server/README.md has what the server's sources log.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

namespace fs = std::filesystem;
using ::testing::IsSupersetOf;

const fs::path kServer = fs::path(LOSSSCALER_TEST_DATA) / "../../server";

std::string Text(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// What stands in backticks before the second bar of a row.
std::set<std::string> EventsOfTheReadme() {
  std::istringstream lines(Text(kServer / "README.md"));
  std::set<std::string> events;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "| event | level | when |") in_table = true;
    if (!line.starts_with("|")) in_table = false;
    if (!in_table) continue;
    const std::string first = line.substr(0, line.find('|', 1));
    const std::regex name("`([a-z_]+)`");
    for (std::sregex_iterator it(first.begin(), first.end(), name), end;
         it != end; ++it) {
      events.insert((*it)[1]);
    }
  }
  return events;
}

// A level, and after it a name: "LogLevel::kInfo, "serving"", "level, "call"",
// "LevelOf(x), "grpc"".
std::set<std::string> EventsOfTheSources() {
  const std::regex event(
      "[Ll]evel\\w*(?:::k\\w+|\\([^()]*\\))?,\\s*\"([a-z_]+)\"");
  std::set<std::string> events;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(kServer)) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = Text(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), event), end;
         it != end; ++it) {
      events.insert((*it)[1]);
    }
  }
  return events;
}

TEST(LogEvents, AreThoseOfTheTableInTheReadme) {
  const std::set<std::string> logged = EventsOfTheSources();
  // Of each way to log one; otherwise the pattern sees nothing.
  ASSERT_THAT(logged, IsSupersetOf({"serving", "start_failed", "grpc", "call",
                                    "worker_lost", "log_suppressed"}));
  EXPECT_EQ(EventsOfTheReadme(), logged);
}

}  // namespace
}  // namespace lossscaler::server
