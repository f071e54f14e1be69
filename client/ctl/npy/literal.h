// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// LiteralReader: the part of Python's literals that .npy headers are made of.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_CTL_NPY_LITERAL_H_
#define LOSSSCALER_CTL_NPY_LITERAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lossscaler::ctl {

// Reads from left to right. What is not there is not consumed.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  // Skips white space, then `symbol` if it comes next.
  bool Take(char symbol);
  // Whether `symbol` comes next, after white space.
  bool At(char symbol);
  // Whether nothing but white space is left.
  bool AtEnd();
  // 'text' or "text", without escapes.
  std::optional<std::string_view> TakeString();
  // True or False.
  std::optional<bool> TakeBool();
  // A decimal number in [0, 2^63), also as Python 2 wrote it ("3L").
  std::optional<std::uint64_t> TakeSize();
  // Whether a string comes next whose quote is never closed.
  bool AtUnclosedString();
  // Whatever comes next, to the comma or bracket that ends it, without white
  // space around it: for messages.
  std::string_view TakeAnything();

 private:
  void SkipSpace();

  std::string_view text_;
  std::size_t next_ = 0;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_LITERAL_H_
