// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Names that nobody can guess and nothing else has.

#ifndef LOSSSCALER_SERVER_SESSIONS_RANDOM_TOKEN_H_
#define LOSSSCALER_SERVER_SESSIONS_RANDOM_TOKEN_H_

#include <string>

namespace lossscaler::server {

// 128 bits of the system's generator, as 32 hexadecimal digits.
std::string RandomToken();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_RANDOM_TOKEN_H_
