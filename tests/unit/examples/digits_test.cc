// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/digits.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::digits {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::TempDirectory;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

// An image whose first pixels are these and whose others are 0.
std::string Line(const std::string& first_pixels, int zeros, int digit) {
  std::string line = first_pixels;
  for (int i = 0; i < zeros; ++i) line += ",0";
  return line + "," + std::to_string(digit) + "\n";
}

std::string WriteFile(const TempDirectory& directory,
                      const std::string& content) {
  const std::string path = directory.path() + "/digits.csv.gz";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string Compress(const TempDirectory& directory,
                     const std::string& content) {
  const std::string path = directory.path() + "/compressed.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(ParseSamplesTest, ScalesPixelsToOneAndKeepsTheirOrder) {
  const auto samples =
      ParseSamples(Line("16,8,1", 61, 7) + Line("0,0,4", 61, 0));
  ASSERT_THAT(samples, IsOk());
  EXPECT_THAT(samples->labels, ElementsAre(7, 0));
  ASSERT_EQ(samples->images.rows(), 64);
  ASSERT_EQ(samples->images.cols(), 2);
  EXPECT_EQ(samples->images(0, 0), 1.0f);
  EXPECT_EQ(samples->images(1, 0), 0.5f);
  EXPECT_EQ(samples->images(2, 0), 0.0625f);
  EXPECT_EQ(samples->images(2, 1), 0.25f);
  EXPECT_EQ(samples->images(63, 1), 0.0f);
}

TEST(ParseSamplesTest, AcceptsCarriageReturnsAndNoLastLineFeed) {
  std::string text = Line("1", 63, 3);
  text.insert(text.size() - 1, "\r");
  text += Line("2", 63, 4);
  text.pop_back();
  const auto samples = ParseSamples(text);
  ASSERT_THAT(samples, IsOk());
  EXPECT_THAT(samples->labels, ElementsAre(3, 4));
}

TEST(ParseSamplesTest, NamesTheLineThatIsNotASample) {
  const std::string good = Line("1", 63, 3);
  for (const std::string& bad : {
           Line("17", 63, 3),   // Pixels end at 16.
           Line("-1", 63, 3),   // and start at 0.
           Line("1", 63, 10),   // Digits end at 9.
           Line("1", 62, 3),    // One number is missing.
           Line("1", 64, 3),    // One is too many.
           Line("x", 63, 3),    // Not a number.
           Line("1.5", 63, 3),  // Not an integer.
           Line("", 63, 3),     // Nothing before the first comma.
           std::string("\n"),
       }) {
    const auto samples = ParseSamples(good + bad + good);
    EXPECT_THAT(samples, HasCode(absl::StatusCode::kInvalidArgument)) << bad;
    EXPECT_THAT(std::string(samples.status().message()), HasSubstr("line 2"))
        << bad;
  }
}

TEST(ParseSamplesTest, RefusesTextWithoutSamples) {
  EXPECT_THAT(ParseSamples(""), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(LoadSamplesTest, ReadsTheDigitsThatComeWithTheTrainer) {
  const auto samples = LoadSamples(LOSSSCALER_DIGITS_DATA);
  ASSERT_THAT(samples, IsOk());
  // As published: 1797 images, 178 of them zeros.
  EXPECT_EQ(samples->count(), 1797u);
  EXPECT_EQ(std::count(samples->labels.begin(), samples->labels.end(), 0), 178);
  EXPECT_EQ(samples->images.minCoeff(), 0.0f);
  EXPECT_EQ(samples->images.maxCoeff(), 1.0f);
}

TEST(LoadSamplesTest, SaysThatAFileIsMissing) {
  const TempDirectory directory;
  const std::string path = directory.path() + "/absent.csv.gz";
  const auto samples = LoadSamples(path);
  EXPECT_THAT(samples, HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(std::string(samples.status().message()), HasSubstr(path));
}

TEST(LoadSamplesTest, RefusesAFileThatIsCutShort) {
  const TempDirectory directory;
  std::string lines;
  for (int i = 0; i < 1000; ++i) {
    lines += Line(std::to_string(i % 17), 63, i % 10);
  }
  const std::string whole = Compress(directory, lines);
  ASSERT_THAT(LoadSamples(WriteFile(directory, whole)), IsOk());
  for (std::size_t length : {whole.size() - 1, whole.size() / 2}) {
    EXPECT_THAT(LoadSamples(WriteFile(directory, whole.substr(0, length))),
                HasCode(absl::StatusCode::kDataLoss))
        << length;
  }
}

TEST(LoadSamplesTest, RefusesAFileWithADamagedByte) {
  const TempDirectory directory;
  std::string damaged = Compress(directory, Line("1", 63, 3));
  // The checksum, in the last eight bytes, no longer fits.
  damaged[damaged.size() - 8] = static_cast<char>(~damaged[damaged.size() - 8]);
  EXPECT_THAT(LoadSamples(WriteFile(directory, damaged)),
              HasCode(absl::StatusCode::kDataLoss));
}

TEST(LoadSamplesTest, NamesFileAndLineOfBadContent) {
  const TempDirectory directory;
  const std::string path =
      WriteFile(directory, Compress(directory, Line("1", 63, 3) + "nonsense"));
  const auto samples = LoadSamples(path);
  EXPECT_THAT(samples, HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(samples.status().message()), HasSubstr(path));
  EXPECT_THAT(std::string(samples.status().message()), HasSubstr("line 2"));
}

// Samples that can be told apart: pixel 0 counts them.
Samples Numbered(int count) {
  Samples samples;
  samples.images = Eigen::MatrixXf::Zero(kPixels, count);
  for (int i = 0; i < count; ++i) {
    samples.images(0, i) = static_cast<float>(i);
    samples.labels.push_back(i % kDigits);
  }
  return samples;
}

TEST(SplitTest, PutsEachSampleWithItsLabelInExactlyOnePart) {
  std::mt19937_64 random(7);
  const Digits digits = Split(Numbered(103), random);
  EXPECT_EQ(digits.test.count(), 20u);
  EXPECT_EQ(digits.train.count(), 83u);
  std::set<int> seen;
  for (const Samples& part : {digits.train, digits.test}) {
    for (std::size_t i = 0; i < part.count(); ++i) {
      const int number =
          static_cast<int>(part.images(0, static_cast<Eigen::Index>(i)));
      EXPECT_TRUE(seen.insert(number).second) << number;
      EXPECT_EQ(part.labels[i], number % kDigits);
    }
  }
  EXPECT_EQ(seen.size(), 103u);
}

TEST(SplitTest, FollowsFromTheSeed) {
  std::mt19937_64 one(7);
  std::mt19937_64 same(7);
  std::mt19937_64 other(8);
  const Samples samples = Numbered(103);
  const Eigen::MatrixXf images = Split(samples, one).test.images;
  EXPECT_THAT(Split(samples, same).test.images, Eq(images));
  EXPECT_NE(Split(samples, other).test.images, images);
}

}  // namespace
}  // namespace lossscaler::digits
