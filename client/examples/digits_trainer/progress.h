// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Live progress: on a terminal one line for each run, rewritten as it goes;
// elsewhere a line for each epoch, without control codes.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_PROGRESS_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_PROGRESS_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "digits_trainer/training.h"

namespace lossscaler::digits {

// Thread safety: one thread at a time.
class Progress {
 public:
  // `out` must outlive it.
  Progress(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}

  void Show(std::string_view run, const Epoch& epoch);

  // A message of its own line.
  void Say(std::string_view message);

 private:
  // Leaves a line that is being rewritten as it is.
  void EndLine();

  std::ostream& out_;
  const bool terminal_;
  // Characters of the line that is being rewritten; 0: there is none.
  std::size_t open_line_ = 0;
};

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_PROGRESS_H_
