// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the commands of lossscalerctl work with.

#ifndef LOSSSCALER_CTL_ENVIRONMENT_H_
#define LOSSSCALER_CTL_ENVIRONMENT_H_

#include <functional>
#include <iostream>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ctl/unfinished_files.h"
#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

// Tests put their own in its place.
//
// Thread safety: as that of its members.
struct Environment {
  std::ostream& out;
  std::ostream& err;
  std::function<std::shared_ptr<Connection>(const ClientOptions&)> connect;
  // Whether the server serves, asked for at most `wait`.
  std::function<absl::StatusOr<bool>(const ClientOptions&, absl::Duration wait)>
      is_serving;
  // Temporary files, for whoever ends the process early.
  UnfinishedFiles& unfinished_files;
  // Whether `err` is a terminal, where a progress bar can be drawn.
  bool err_is_terminal = false;
  // Whether `out` is a pipe whose reader has gone: that it cannot be written to
  // is no news to anybody.
  std::function<bool()> out_is_abandoned = [] { return false; };
  std::istream& in = std::cin;
};

// Text is for people, JSON (one line for each command) for programs.
enum class Format { kText, kJson };

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_ENVIRONMENT_H_
