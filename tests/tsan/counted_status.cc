// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// For programs under thread sanitizer: how absl::Status gives up its share of
// what copies have in common, in place of the library's own.
//
// Debian's Abseil is not instrumented. It counts shares atomically, but thread
// sanitizer sees only those that the headers take, not those that the library
// gives up, and so takes the last owner's deletion for a race with the others.
// Here it sees both.

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace absl {
ABSL_NAMESPACE_BEGIN

void Status::UnrefNonInlined(std::uintptr_t rep) {
  status_internal::StatusRep* const shared = RepToPointer(rep);
  if (shared->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
}

ABSL_NAMESPACE_END
}  // namespace absl
