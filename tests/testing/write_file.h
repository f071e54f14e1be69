// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A whole file with a mode, in place of what was there before.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_TESTING_WRITE_FILE_H_
#define LOSSSCALER_TESTS_TESTING_WRITE_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lossscaler::testing {

// Readers see the old file or the new one.
inline void WriteFile(const std::string& path, const std::string& text,
                      mode_t mode = 0640) {
  const std::string fresh = path + ".fresh";
  std::ofstream(fresh, std::ios::binary | std::ios::trunc) << text;
  if (chmod(fresh.c_str(), mode) != 0 ||
      std::rename(fresh.c_str(), path.c_str()) != 0) {
    std::abort();
  }
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_WRITE_FILE_H_
