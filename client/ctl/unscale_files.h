// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// `lossscalerctl unscale`: NumPy files through one Unscale stream.
//
// Each result appears whole or not at all: all are written beside their places,
// flushed to disk and renamed when every element has been answered.
//
// Thread safety: a free function without state.

#ifndef LOSSSCALER_CTL_UNSCALE_FILES_H_
#define LOSSSCALER_CTL_UNSCALE_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/commands.h"
#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

struct UnscaleRequest {
  std::string session;
  // Unset: the step that is open.
  std::optional<std::int64_t> step;
  // .npy files of float16, float32 or float64, of either byte order.
  std::vector<std::string> inputs;
  // A file for one input, or a folder that exists. Empty: the gradients are
  // only checked.
  std::string output;
  // float16 results stay float16; otherwise they are float32.
  bool keep_type = false;
  bool skip_statistics = false;
  // kOverflowFound instead of kDone when a gradient was not finite.
  bool fail_on_overflow = false;
  // Whether to say on `err`, a terminal, how far it is.
  bool progress = false;
};

int UnscaleFiles(const Environment& environment, Connection& connection,
                 const UnscaleRequest& request, Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_UNSCALE_FILES_H_
