// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A whole file as text.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_TESTING_READ_FILE_H_
#define LOSSSCALER_TESTS_TESTING_READ_FILE_H_

#include <fstream>
#include <iterator>
#include <string>

namespace lossscaler::testing {

// Empty if there is no such file.
inline std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_READ_FILE_H_
