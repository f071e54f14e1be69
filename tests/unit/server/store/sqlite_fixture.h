// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A folder with an sqlite store, and a second way into its database.

#ifndef LOSSSCALER_TESTS_UNIT_SERVER_STORE_SQLITE_FIXTURE_H_
#define LOSSSCALER_TESTS_UNIT_SERVER_STORE_SQLITE_FIXTURE_H_

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "store/sqlite_store.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {

class SqliteTest : public ::testing::Test {
 protected:
  std::string folder() const { return temp_.path(); }
  std::string database() const { return temp_.path() + "/lossscaler.db"; }

  absl::StatusOr<std::unique_ptr<Store>> Open(
      const SqliteOptions& options = {}) const {
    return OpenSqliteStore(folder(), options);
  }

  // For tests that are about something else.
  std::unique_ptr<Store> MustOpen(const SqliteOptions& options = {}) const {
    absl::StatusOr<std::unique_ptr<Store>> store = Open(options);
    if (!store.ok()) {
      ADD_FAILURE() << store.status();
      std::abort();
    }
    return *std::move(store);
  }

  // Runs SQL behind the store's back, on any database; the first number it
  // returns, or 0.
  static std::int64_t Sql(const std::string& path, const std::string& sql) {
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    sqlite3_busy_timeout(handle, 10'000);
    std::int64_t number = 0;
    const auto take_number = [](void* result, int, char** values, char**) {
      if (values[0] != nullptr) {
        *static_cast<std::int64_t*>(result) =
            std::strtoll(values[0], nullptr, 10);
      }
      return 0;
    };
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), take_number, &number, &message),
              SQLITE_OK)
        << message;
    sqlite3_free(message);
    sqlite3_close(handle);
    return number;
  }
  std::int64_t Sql(const std::string& sql) const {
    return Sql(database(), sql);
  }

  static std::string ReadFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  // Every file of the folder with its bytes.
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      const std::string name = entry.path().filename();
      contents[name] = ReadFile(entry.path());
    }
    return contents;
  }

 private:
  testing::TempDirectory temp_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_TESTS_UNIT_SERVER_STORE_SQLITE_FIXTURE_H_
