// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/unscale_flags.h"

#include <string>

#include "absl/status/status.h"
#include "ctl/command_flags.h"
#include "ctl/value_flags.h"

namespace lossscaler::ctl {

void AddUnscaleFlags(CLI::App* unscale, UnscaleFlags* flags) {
  UnscaleRequest& request = flags->request;
  AddSessionName(unscale, &request.session);
  AddValues<std::string>(unscale, "IN.npy", "the gradients", &request.inputs);
  CLI::App* output = AddExclusiveGroup(unscale, "output");
  AddValueTo<std::string>(output, "-o,--output",
                          "a file for one input, or a folder that exists",
                          &request.output)
      ->type_name("OUT");
  output->add_flag("--check-only", flags->check_only, "write no gradients");
  AddStep(unscale, &request.step);
  unscale->add_flag("--keep-type", request.keep_type,
                    "float16 results stay float16");
  unscale->add_flag("--no-statistics", request.skip_statistics,
                    "only look for overflow; compute no norm");
  unscale->add_flag("--fail-on-overflow", request.fail_on_overflow,
                    "exit with 4 if a gradient is not finite");
  unscale->add_flag("--progress", flags->progress,
                    "draw a progress bar (default: on a terminal, without "
                    "--json)");
  unscale->add_flag("--no-progress", flags->no_progress,
                    "draw no progress bar");
}

absl::StatusOr<UnscaleRequest> MakeUnscaleRequest(const UnscaleFlags& flags,
                                                  bool progress_by_default) {
  if (flags.check_only && flags.request.keep_type) {
    return absl::InvalidArgumentError(
        "--keep-type says how to write, and --check-only writes nothing");
  }
  if (flags.progress && flags.no_progress) {
    return absl::InvalidArgumentError(
        "--progress and --no-progress contradict each other");
  }
  UnscaleRequest request = flags.request;
  request.progress =
      flags.progress || (progress_by_default && !flags.no_progress);
  return request;
}

}  // namespace lossscaler::ctl
