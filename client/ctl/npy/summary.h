// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What `lossscalerctl unscale` says of its files when it is done.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_NPY_SUMMARY_H_
#define LOSSSCALER_CTL_NPY_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/npy/header.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::ctl {

struct FileSummary {
  std::string input;
  // Empty: only checked.
  std::string output;
  NpyHeader header;
  ElementType output_type = ElementType::kFloat32;
  UnscaleVerdict verdict;
  // The element of the input at first_bad_index. Unset if there is none, or it
  // cannot be learnt any more.
  std::optional<std::string> first_bad_value;
};

struct UnscaleSummary {
  std::string session;
  std::int64_t step = 0;
  double scale = 1;
  // Whether norms and maximum are known.
  bool statistics = true;
  std::vector<FileSummary> files;

  bool overflow() const;
};

// A table of the files and a line about all of them, for people.
std::string SummaryText(const UnscaleSummary& summary);

// One line without its end:
//
//   {"session","step","scale","overflow","norm","absolute_maximum",
//    "files":[{"input","output","shape","dtype","output_dtype","elements",
//              "nan","positive_infinity","negative_infinity",
//              "flushed_to_zero",
//              "first_bad":{"index","position","value"},"norm"}]}
//
// `index` counts in the order of the file, `position` is what a[...] takes.
// Norms and maximum are those of the finite elements. Null: no output, no bad
// value, no statistics; "value": the input has changed meanwhile.
std::string SummaryJson(const UnscaleSummary& summary);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_SUMMARY_H_
