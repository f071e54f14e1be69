// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ProgressBar: how far a transfer is, in one line of a terminal.
//
//   [=========>          ]  45%  1.2 GiB/2.7 GiB  340 MiB/s  5 s left
//
// Thread safety: one thread.

#ifndef LOSSSCALER_CTL_PROGRESS_BAR_H_
#define LOSSSCALER_CTL_PROGRESS_BAR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace lossscaler::ctl {

// The line, of at most `width` - 1 characters so that the terminal does not
// wrap it. What does not fit is left out: first the bar, then time and rate,
// then the bytes.
std::string ProgressText(std::uint64_t done, std::uint64_t total,
                         absl::Duration elapsed, int width);

// The width of the terminal that standard error is, in characters; 80 if it
// does not say.
int ErrorTerminalWidth();

class ProgressBar {
 public:
  // `now` is any monotonic clock; `width` is asked before each line.
  ProgressBar(std::ostream& terminal, std::function<absl::Time()> now,
              std::function<int()> width);
  // Takes the line away.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws at most ten times a second, but always what is complete.
  void Show(std::uint64_t done, std::uint64_t total);

 private:
  std::ostream& terminal_;
  const std::function<absl::Time()> now_;
  const std::function<int()> width_;
  const absl::Time start_;
  std::optional<absl::Time> drawn_;
  std::size_t drawn_size_ = 0;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_PROGRESS_BAR_H_
