// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CORE_NUMBER_TEXT_H_
#define LOSSSCALER_CORE_NUMBER_TEXT_H_

#include <string>

namespace lossscaler {

// The shortest decimal that reads back as `value`: "1024", "1e-05". (What
// absl::StrCat writes is cut to six digits.)
//
// Thread safety: a free function without state.
std::string NumberText(double value);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_NUMBER_TEXT_H_
