// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/unfinished_files.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "testing/child_process.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

// Nothing can be done with `files` afterwards, hence the child.
std::string WhatIsKnownAtTheEnd(UnfinishedFiles* files) {
  return testing::InChild([files]() -> std::string {
    switch (files->RemoveAll()) {
      case Results::kNone:
        return "none";
      case Results::kThrownAway:
        return "thrown away";
      case Results::kSomeInPlace:
        return "some";
      case Results::kInPlace:
        return "all";
    }
    return "";
  });
}

TEST(UnfinishedFiles, WhatHappenedToResultsIsKnown) {
  testing::TempDirectory folder;
  const std::string path = absl::StrCat(folder.path(), "/temporary");
  UnfinishedFiles files;
  EXPECT_EQ(WhatIsKnownAtTheEnd(&files), "none");
  files.Add([&path] {
    std::ofstream(path) << "x";
    return path;
  });
  EXPECT_EQ(WhatIsKnownAtTheEnd(&files), "thrown away");
  EXPECT_FALSE(std::filesystem::exists(path));
  files.Finish([](std::set<std::string>&) { return Results::kNone; });
  EXPECT_EQ(WhatIsKnownAtTheEnd(&files), "thrown away");
  files.Finish([](std::set<std::string>&) { return Results::kSomeInPlace; });
  EXPECT_EQ(WhatIsKnownAtTheEnd(&files), "some");
  files.Finish([](std::set<std::string>& paths) {
    paths.clear();
    return Results::kInPlace;
  });
  EXPECT_EQ(WhatIsKnownAtTheEnd(&files), "all");
}

}  // namespace
}  // namespace lossscaler::ctl
