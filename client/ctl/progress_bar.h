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
#include <string>
#include <string_view>

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

// A clock that nobody sets.
absl::Time SteadyNow();

class ProgressBar {
 public:
  // `now` is a monotonic clock of any epoch, such as SteadyNow; `width` is
  // asked before each line.
  ProgressBar(std::ostream& terminal, std::function<absl::Time()> now,
              std::function<int()> width);
  // Takes the line away.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws at once: how often is up to the caller.
  void Show(std::uint64_t done, std::uint64_t total);
  // The same of work that does not say how far it is, cut to the width:
  // "reading 3 files, 381.0 MiB ...".
  void Show(std::string_view doing, std::size_t files, std::uint64_t bytes);

 private:
  // Over what was drawn before.
  void Draw(const std::string& text);

  std::ostream& terminal_;
  const std::function<absl::Time()> now_;
  const std::function<int()> width_;
  const absl::Time start_;
  std::size_t drawn_size_ = 0;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_PROGRESS_BAR_H_
