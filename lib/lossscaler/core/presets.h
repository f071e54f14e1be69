// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Presets: the DynamicOptions with which a Dynamic scaler takes the decisions
// and has the scales of another system, bit for bit.
//
//   auto options = PresetOptions("megatron");
//   if (!options.ok()) return options.status();
//   options->initial_scale = 65536;  // Every value can be changed afterwards.
//   auto scaler = LossScaler::Dynamic(*options);
//
// Values are the other system's own defaults; where its caller must give one,
// the choice is noted in presets.cc. unscale_arithmetic follows the system
// too, and is division where we do not know it.
//
// What no preset reproduces is failure: where a system reaches 0 or infinity,
// ours stops at kMinScale or kMaxScale; where it raises an exception
// (deepspeed_zero and fairseq at their minimum, mindspore_manager after 1,000
// overflows in a row), the update is reported as `floored` or `stalled`
// instead; fairseq goes back to the scale before as it raises, ours is at the
// minimum. A static scale, or a change of the growth interval in mid-run, are
// not presets either.
//
// These systems cannot be expressed by the knobs and have no preset:
//   metaseq                doubles and halves its growth interval.
//   fairseq, tolerance > 0 backs off on a share of overflows since the last
//                          change of scale; "fairseq" is tolerance 0.
//   mxnet                  uses a new scale one step late.
//   openseq2seq_logmax     derives the scale from statistics of gradients.
//   transformer_engine     has a scale per tensor, from its maximum.
// PyTorch's ShardedGradScaler, fairseq2 and Accelerate are "pytorch"; TF1 is
// "tf_keras"; MindSpore's amp.DynamicLossScaler is "jmp".
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_PRESETS_H_
#define LOSSSCALER_CORE_PRESETS_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

// INVALID_SCALER, listing the names, if there is no such preset.
absl::StatusOr<DynamicOptions> PresetOptions(std::string_view name);

// Every name, in alphabetical order.
std::span<const std::string_view> PresetNames();

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_PRESETS_H_
