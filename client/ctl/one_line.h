// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a terminal may be shown of a text that came from elsewhere.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_ONE_LINE_H_
#define LOSSSCALER_CTL_ONE_LINE_H_

#include <string>
#include <string_view>

namespace lossscaler::ctl {

// `text` with a blank for every control character, those beyond ASCII (U+0080
// to U+009F, in UTF-8) too: it ends no line and commands no terminal.
std::string OneLine(std::string_view text);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_ONE_LINE_H_
