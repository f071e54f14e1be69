// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The commands about decisions that have fallen or will, after their flags have
// been read. Of sessions of any kind.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_JOURNAL_COMMANDS_H_
#define LOSSSCALER_CTL_JOURNAL_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "ctl/environment.h"
#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

struct WatchRequest {
  std::string session;
  // As WatchCall::from_step. Unset: the next decision that falls.
  std::optional<std::int64_t> from_step;
  // Unset: until the process is ended.
  std::optional<std::int64_t> count;
};
// Writes a line for every decision as it falls, each once, through any restart
// of the server.
int Watch(const Environment& environment, Connection& connection,
          const WatchRequest& request, Format format);

struct DecisionsRequest {
  std::string session;
  // Everything about this one instead of a list.
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> iteration;
  std::optional<std::int64_t> from_step;
  // At most so many; > 0.
  std::int64_t limit = 20;
};
int Decisions(const Environment& environment, Connection& connection,
              const DecisionsRequest& request, Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_JOURNAL_COMMANDS_H_
