// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/progress.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace lossscaler::digits {

void Progress::Show(std::string_view run, const Epoch& epoch) {
  std::string line =
      absl::StrFormat("%-16s  epoch %*d/%d  loss %7.4f  test %5.1f %%",
                      std::string(run), epoch.of < 100 ? 2 : 3, epoch.number,
                      epoch.of, epoch.loss, 100.0 * epoch.accuracy);
  if (epoch.scale) {
    absl::StrAppendFormat(&line, "  scale %.12g  skipped %d", *epoch.scale,
                          epoch.skipped);
  }
  if (!terminal_) {
    out_ << line << std::endl;
    return;
  }
  // Spaces over the rest of a longer line: the only control code is \r.
  const std::size_t length = line.size();
  line.resize(std::max(length, open_line_), ' ');
  out_ << '\r' << line << std::flush;
  open_line_ = length;
  if (epoch.number == epoch.of) EndLine();
}

void Progress::Say(std::string_view message) {
  EndLine();
  out_ << message << std::endl;
}

void Progress::EndLine() {
  if (open_line_ > 0) out_ << '\n';
  open_line_ = 0;
}

}  // namespace lossscaler::digits
