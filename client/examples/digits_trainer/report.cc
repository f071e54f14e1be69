// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/report.h"

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace lossscaler::digits {
namespace {

constexpr char kRow[] = "%-16s  %8s  %13s  %15s  %13s  %12s\n";

}  // namespace

std::string Table(const std::vector<NamedResult>& results) {
  std::string table =
      absl::StrFormat(kRow, "run", "loss", "test accuracy", "lost in float16",
                      "skipped steps", "final scale");
  for (const NamedResult& named : results) {
    const RunResult& result = named.result;
    std::string lost = "-";
    std::string skipped = "-";
    std::string scale = "-";
    if (result.float16) {
      lost =
          absl::StrFormat("%.3f %%", 100.0 * result.float16->underflow.share());
      skipped = absl::StrFormat("%d", result.float16->skipped);
      scale = absl::StrFormat("%.12g", result.float16->final_scale);
    }
    absl::StrAppendFormat(&table, kRow, named.title,
                          absl::StrFormat("%.4f", result.loss),
                          absl::StrFormat("%.1f %%", 100.0 * result.accuracy),
                          lost, skipped, scale);
  }
  return table;
}

std::string Json(const std::vector<NamedResult>& results) {
  nlohmann::ordered_json json;
  for (const NamedResult& named : results) {
    const RunResult& result = named.result;
    nlohmann::ordered_json run = {{"loss", result.loss},
                                  {"test_accuracy", result.accuracy},
                                  {"steps", result.steps}};
    if (result.float16) {
      run["lost_in_float16"] = result.float16->underflow.share();
      run["skipped_steps"] = result.float16->skipped;
      run["final_scale"] = result.float16->final_scale;
    }
    json[named.key] = std::move(run);
  }
  return json.dump(2) + "\n";
}

}  // namespace lossscaler::digits
