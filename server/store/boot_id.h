// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Which life of the machine this is.

#ifndef LOSSSCALER_SERVER_STORE_BOOT_ID_H_
#define LOSSSCALER_SERVER_STORE_BOOT_ID_H_

#include <string>

namespace lossscaler::server {

// The kernel's name for the time since the machine was booted: another one
// after a power loss, the same for containers on one machine. Empty if the
// kernel does not say.
std::string MachineBootId();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_BOOT_ID_H_
