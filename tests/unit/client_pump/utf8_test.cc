// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/utf8.h"

#include <string_view>

#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

// clang-tidy 14 does not see that literals use it.
// NOLINTNEXTLINE(misc-unused-using-decls)
using std::string_view_literals::operator""sv;

TEST(IsUtf8Test, AcceptsEveryLength) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("layer.0/weight\0x"sv));
  EXPECT_TRUE(IsUtf8("\xC2\x80 \xDF\xBF"));
  EXPECT_TRUE(IsUtf8("\xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80"));
  EXPECT_TRUE(IsUtf8("\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"));
}

// Table 3-7 of the Unicode standard, from the outside.
TEST(IsUtf8Test, RefusesWhatIsIllFormed) {
  EXPECT_FALSE(IsUtf8("\x80"));              // A follower alone.
  EXPECT_FALSE(IsUtf8("\xC3"));              // Cut off.
  EXPECT_FALSE(IsUtf8("\xC3("));             // No follower.
  EXPECT_FALSE(IsUtf8("\xE2\x82"));          // Cut off.
  EXPECT_FALSE(IsUtf8("\xC1\xBF"));          // Overlong.
  EXPECT_FALSE(IsUtf8("\xE0\x9F\xBF"));      // Overlong.
  EXPECT_FALSE(IsUtf8("\xF0\x8F\xBF\xBF"));  // Overlong.
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));      // A surrogate.
  EXPECT_FALSE(IsUtf8("\xF4\x90\x80\x80"));  // Above U+10FFFF.
  EXPECT_FALSE(IsUtf8("\xF5\x80\x80\x80"));
  EXPECT_FALSE(IsUtf8("\xFF"));
}

}  // namespace
}  // namespace lossscaler::internal
