// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/digits.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lossscaler::digits {
namespace {

constexpr float kLargestPixel = 16.0f;

struct CloseFile {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<gzFile_s, CloseFile>;

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  errno = 0;
  const File file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  std::string text;
  std::array<char, 1 << 16> buffer;
  int count = 0;
  while ((count = gzread(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  // A file that ends within its compressed data reads to its end and only then
  // reports an error.
  int error = Z_OK;
  const char* message = gzerror(file.get(), &error);
  if (error != Z_OK) {
    return absl::DataLossError(
        absl::StrCat(path, " is damaged or cut short: ", message));
  }
  return text;
}

// Takes a number in [0, largest] and what separates it from the next one off
// the front of `line`.
std::optional<int> TakeNumber(std::string_view& line, int largest, bool last) {
  int number = 0;
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data(), end, number);
  if (error != std::errc() || number < 0 || number > largest) {
    return std::nullopt;
  }
  if (last ? rest != end : (rest == end || *rest != ',')) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(rest - line.data()) +
                     (last ? 0 : 1));
  return number;
}

}  // namespace

Samples Samples::Select(const std::vector<std::size_t>& indices) const {
  Samples selected;
  selected.images.resize(images.rows(),
                         static_cast<Eigen::Index>(indices.size()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    selected.images.col(static_cast<Eigen::Index>(i)) =
        images.col(static_cast<Eigen::Index>(indices[i]));
    selected.labels.push_back(labels[indices[i]]);
  }
  return selected;
}

absl::StatusOr<Samples> ParseSamples(std::string_view text) {
  std::vector<float> pixels;
  Samples samples;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::optional<int> value;
    for (int i = 0; i < kPixels; ++i) {
      value = TakeNumber(line, static_cast<int>(kLargestPixel), false);
      if (!value) break;
      pixels.push_back(static_cast<float>(*value) / kLargestPixel);
    }
    if (value) value = TakeNumber(line, kDigits - 1, true);
    if (!value) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number,
          " is not 64 pixels in 0..16 and a digit in 0..9, with commas"));
    }
    samples.labels.push_back(*value);
  }
  if (samples.labels.empty()) {
    return absl::InvalidArgumentError("there are no samples");
  }
  samples.images = Eigen::Map<const Eigen::MatrixXf>(
      pixels.data(), kPixels, static_cast<Eigen::Index>(samples.count()));
  return samples;
}

absl::StatusOr<Samples> LoadSamples(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadAll(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Samples> samples = ParseSamples(*text);
  if (!samples.ok()) {
    return absl::Status(samples.status().code(),
                        absl::StrCat(path, ": ", samples.status().message()));
  }
  return samples;
}

Digits Split(const Samples& samples, std::mt19937_64& random) {
  std::vector<std::size_t> order(samples.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  const auto middle =
      order.begin() + static_cast<std::ptrdiff_t>(samples.count() / 5);
  return {.train = samples.Select({middle, order.end()}),
          .test = samples.Select({order.begin(), middle})};
}

}  // namespace lossscaler::digits
