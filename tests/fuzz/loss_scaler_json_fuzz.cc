// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes as the JSON of a loss scaler: they are refused as INVALID_SCALER,
// or the scaler that they say survives being written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/loss_scaler_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using lossscaler::LossScaler;
  using lossscaler::LossScalerFromJson;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<LossScaler> scaler = LossScalerFromJson(bytes);
  if (!scaler.ok()) {
    if (scaler.status().message().empty() ||
        lossscaler::ReasonOf(scaler.status()) !=
            lossscaler::Reason::kInvalidScaler) {
      std::abort();
    }
    return 0;
  }
  const std::string text = lossscaler::ToJson(*scaler);
  const absl::StatusOr<LossScaler> again = LossScalerFromJson(text);
  if (!again.ok() || *again != *scaler || lossscaler::ToJson(*again) != text) {
    std::abort();
  }
  return 0;
}
