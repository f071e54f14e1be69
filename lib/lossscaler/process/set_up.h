// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What our executables do before anything else. Never the library: these are
// settings of a process, and a process belongs to its user.

#ifndef LOSSSCALER_PROCESS_SET_UP_H_
#define LOSSSCALER_PROCESS_SET_UP_H_

namespace lossscaler {

// - glibc keeps the memory of chunks that have been dealt with for those that
//   come, instead of asking the kernel for fresh pages for each: streams of
//   gradients then run up to twice as fast.
// - Debian's Abseil looks for deadlocks in every lock that gRPC takes; off.
//
// Call once, from main(), before the first thread.
void SetUpProcess();

}  // namespace lossscaler

#endif  // LOSSSCALER_PROCESS_SET_UP_H_
