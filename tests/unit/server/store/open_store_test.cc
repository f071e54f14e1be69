// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/open_store.h"

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "store/store.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::TempDirectory;

TEST(OpenStoreTest, OpensMemory) {
  const absl::StatusOr<std::unique_ptr<Store>> store = OpenStore("memory", {});
  ASSERT_THAT(store, IsOk());
  EXPECT_EQ((*store)->name(), "memory");
}

TEST(OpenStoreTest, OpensTheFolderAfterTheColon) {
  const TempDirectory temp;
  const std::string folder = temp.path() + "/odd: %41?x#y";
  const absl::StatusOr<std::unique_ptr<Store>> store =
      OpenStore(absl::StrCat("sqlite:", folder), {});
  ASSERT_THAT(store, IsOk());
  EXPECT_EQ((*store)->name(), "sqlite");
  EXPECT_TRUE(std::filesystem::exists(folder + "/lossscaler.db"));
}

TEST(OpenStoreTest, OpensTheDefaultFolder) {
  const TempDirectory temp;
  const std::string folder = temp.path() + "/state";
  ASSERT_EQ(setenv("STATE_DIRECTORY", folder.c_str(), 1), 0);
  const absl::StatusOr<std::unique_ptr<Store>> store = OpenStore("sqlite", {});
  unsetenv("STATE_DIRECTORY");
  ASSERT_THAT(store, IsOk());
  EXPECT_TRUE(std::filesystem::exists(folder + "/lossscaler.db"));
}

TEST(OpenStoreTest, RefusesWhatNamesNoStore) {
  for (const char* spec :
       {"", "sqlite:", "memory:", "Memory", "redis:host", "sqlite3:dir"}) {
    EXPECT_THAT(OpenStore(spec, {}),
                HasCode(absl::StatusCode::kInvalidArgument))
        << spec;
  }
}

}  // namespace
}  // namespace lossscaler::server
