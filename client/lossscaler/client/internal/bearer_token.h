// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a bearer token looks like. No error repeats the token.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_BEARER_TOKEN_H_
#define LOSSSCALER_CLIENT_INTERNAL_BEARER_TOKEN_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lossscaler::internal {

// Headers of a call have 8 KiB in all, unless a server is told otherwise.
inline constexpr std::size_t kMaxTokenBytes = 4096;

// What is wrong with `token` as the value of a header, to be said after its
// name ("is empty"); empty if nothing is.
std::string WhatIsWrongWithToken(std::string_view token);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_BEARER_TOKEN_H_
