// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Unscale streams under load.

#ifndef LOSSSCALER_TESTS_LOAD_UNSCALER_H_
#define LOSSSCALER_TESTS_LOAD_UNSCALER_H_

#include <memory>

#include "load/caller.h"
#include "load/course.h"
#include "load/sessions.h"

namespace lossscaler::load {

// Until the course stops: sends gradients of 256 KiB through an Unscale stream
// of `session`, which is its own and has a fixed scale, looks at what comes
// back, and updates the session by what the stream found.
std::unique_ptr<Caller> MakeUnscaler(Course* course, Stub* stub,
                                     LoadSession* session);

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_UNSCALER_H_
