// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lossscaler::ctl {
namespace {

constexpr std::size_t kShortestBar = 10;
constexpr std::size_t kLongestBar = 40;

std::string BytesText(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  // 1023.95 would be written 1024.0.
  for (; bytes >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) {
    bytes /= 1024;
  }
  if (unit == 0) return absl::StrFormat("%.0f B", bytes);
  return absl::StrFormat("%.1f %s", bytes, kUnits[unit]);
}

// Rounded up: nobody waits for longer than was said.
std::string TimeText(double seconds) {
  constexpr double kMost = 99 * 3600;
  if (!(seconds <= kMost)) return "> 99 h";
  const int whole = static_cast<int>(std::ceil(seconds));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) {
    return absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
  }
  return absl::StrFormat("%d:%02d h", whole / 3600, whole / 60 % 60);
}

std::string Bar(double fraction, std::size_t size) {
  const auto filled =
      static_cast<std::size_t>(fraction * static_cast<double>(size));
  std::string bar = absl::StrCat("[", std::string(filled, '='));
  if (filled < size) {
    bar += '>';
    bar.append(size - filled - 1, ' ');
  }
  return bar + "]";
}

}  // namespace

std::string ProgressText(std::uint64_t done, std::uint64_t total,
                         absl::Duration elapsed, int width) {
  const std::size_t room = static_cast<std::size_t>(std::max(width - 1, 0));
  done = std::min(done, total);
  const double fraction =
      total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const std::string percent =
      absl::StrFormat("%3d%%", static_cast<int>(fraction * 100));
  const std::string bytes =
      absl::StrCat("  ", BytesText(static_cast<double>(done)), "/",
                   BytesText(static_cast<double>(total)));
  std::string speed;
  const double seconds = absl::ToDoubleSeconds(elapsed);
  if (seconds > 0 && done > 0) {
    const double rate = static_cast<double>(done) / seconds;
    speed = absl::StrCat("  ", BytesText(rate), "/s  ",
                         TimeText(static_cast<double>(total - done) / rate),
                         " left");
  }
  std::string text = absl::StrCat(percent, bytes, speed);
  if (text.size() + kShortestBar + 3 <= room) {
    const std::size_t bar = std::min(room - text.size() - 3, kLongestBar);
    return absl::StrCat(Bar(fraction, bar), " ", text);
  }
  if (text.size() > room) text = absl::StrCat(percent, bytes);
  if (text.size() > room) text = percent;
  return text.size() > room ? "" : text;
}

int ErrorTerminalWidth() {
  winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

absl::Time SteadyNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

ProgressBar::ProgressBar(std::ostream& terminal,
                         std::function<absl::Time()> now,
                         std::function<int()> width)
    : terminal_(terminal),
      now_(std::move(now)),
      width_(std::move(width)),
      start_(now_()) {}

ProgressBar::~ProgressBar() {
  if (drawn_size_ == 0) return;
  terminal_ << "\r" << std::string(drawn_size_, ' ') << "\r" << std::flush;
}

void ProgressBar::Show(std::uint64_t done, std::uint64_t total) {
  Draw(ProgressText(done, total, now_() - start_, width_()));
}

void ProgressBar::Show(std::string_view doing, std::size_t files,
                       std::uint64_t bytes) {
  const std::string text = absl::StrCat(
      std::string(doing), " ", files, files == 1 ? " file, " : " files, ",
      BytesText(static_cast<double>(bytes)), " ...");
  Draw(text.substr(0, static_cast<std::size_t>(std::max(width_() - 1, 0))));
}

void ProgressBar::Draw(const std::string& text) {
  // What the line before had more is written over.
  const std::size_t left_over =
      drawn_size_ > text.size() ? drawn_size_ - text.size() : 0;
  terminal_ << "\r" << text << std::string(left_over, ' ') << std::flush;
  drawn_size_ = text.size();
}

}  // namespace lossscaler::ctl
