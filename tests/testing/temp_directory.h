// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A folder of a test's own, removed with everything in it.

#ifndef LOSSSCALER_TESTS_TESTING_TEMP_DIRECTORY_H_
#define LOSSSCALER_TESTS_TESTING_TEMP_DIRECTORY_H_

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace lossscaler::testing {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "lossscaler-test.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_TEMP_DIRECTORY_H_
