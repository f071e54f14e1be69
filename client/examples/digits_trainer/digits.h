// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The handwritten digits that the trainer learns from.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_DIGITS_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_DIGITS_H_

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace lossscaler::digits {

inline constexpr int kPixels = 64;
inline constexpr int kDigits = 10;

struct Samples {
  // One image in each column, pixels in [0, 1].
  Eigen::MatrixXf images;
  // The digit of each image.
  std::vector<int> labels;

  std::size_t count() const { return labels.size(); }
  // The samples at these indices, in this order.
  Samples Select(const std::vector<std::size_t>& indices) const;
};

struct Digits {
  Samples train;
  Samples test;
};

// Parses lines of 64 pixels in 0..16 and a digit in 0..9, separated by commas.
// INVALID_ARGUMENT names the line that is not one, or says that there is none.
absl::StatusOr<Samples> ParseSamples(std::string_view text);

// Reads a gzip-compressed file of such lines. NOT_FOUND if it cannot be
// opened, DATA_LOSS if it is cut short or damaged.
absl::StatusOr<Samples> LoadSamples(const std::string& path);

// A fifth of the samples, drawn at random, for testing; the rest for training.
// REQUIRES: five samples at least.
Digits Split(const Samples& samples, std::mt19937_64& random);

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_DIGITS_H_
