// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_RANDOM_ID_H_
#define LOSSSCALER_CLIENT_INTERNAL_RANDOM_ID_H_

#include <string>

namespace lossscaler::internal {

// 128 bits from the operating system, as 32 hexadecimal digits: an id that no
// other process has, a forked copy of this one included.
//
// Thread safety: any thread, at any time.
std::string RandomId();

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_RANDOM_ID_H_
