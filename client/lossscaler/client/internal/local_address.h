// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_LOCAL_ADDRESS_H_
#define LOSSSCALER_CLIENT_INTERNAL_LOCAL_ADDRESS_H_

#include <string_view>

namespace lossscaler::internal {

// Whether a gRPC target is on this machine: a unix socket, or "localhost",
// 127.0.0.0/8 or ::1 with or without a port and a "dns:", "ipv4:" or "ipv6:"
// before it. Several addresses in one target are not.
//
// Thread safety: free functions without state.
bool IsLocalAddress(std::string_view target);

// Whether it is a unix socket.
bool IsUnixSocket(std::string_view target);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_LOCAL_ADDRESS_H_
