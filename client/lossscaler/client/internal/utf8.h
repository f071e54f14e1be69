// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Whether text may be sent in a string field: gRPC refuses other text without
// saying which field it was.

#ifndef LOSSSCALER_CLIENT_INTERNAL_UTF8_H_
#define LOSSSCALER_CLIENT_INTERNAL_UTF8_H_

#include <string_view>

namespace lossscaler::internal {

// Well-formed UTF-8 as in table 3-7 of the Unicode standard: no overlong
// forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_UTF8_H_
