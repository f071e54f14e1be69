// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_INTERRUPT_H_
#define LOSSSCALER_CTL_INTERRUPT_H_

#include "ctl/unfinished_files.h"

namespace lossscaler::ctl {

// From here on Ctrl-C, SIGTERM, SIGHUP and SIGQUIT take the unfinished files
// away, say so on standard error, and then end the process as they would have,
// so that a shell sees death by signal. Those that are ignored (nohup) stay
// ignored.
//
// Call once, before any thread is started: the signals are blocked in this
// thread and all that it starts, and one thread waits for them. `unfinished`
// must live as long as the process.
void HandleInterrupts(UnfinishedFiles* unfinished);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_INTERRUPT_H_
