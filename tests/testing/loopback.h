// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// TCP sockets on the loopback interface, for proxies.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_TESTING_LOOPBACK_H_
#define LOSSSCALER_TESTS_TESTING_LOOPBACK_H_

#include <netinet/in.h>
#include <sys/types.h>

namespace lossscaler::testing {

sockaddr_in Loopback(int port);

// A listener on a free port.
int ListenOnLoopback(int* port);

// False if the other side has gone.
bool SendAll(int socket, const char* data, ssize_t size);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_LOOPBACK_H_
