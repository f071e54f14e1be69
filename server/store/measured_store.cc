// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/measured_store.h"

#include <chrono>

namespace lossscaler::server {

void MeasuredStore::Commit(Write write, Done done) {
  const auto start = std::chrono::steady_clock::now();
  ForwardingStore::Commit(
      std::move(write), [on_write = on_write_, start, done = std::move(done)](
                            WriteResult result, absl::Status status) {
        (*on_write)(absl::FromChrono(std::chrono::steady_clock::now() - start),
                    result);
        done(result, std::move(status));
      });
}

}  // namespace lossscaler::server
