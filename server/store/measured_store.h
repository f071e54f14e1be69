// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// MeasuredStore: a store that tells how long each of its writes took.
//
// Thread safety: as the store in it. The callable is called from the store's
// threads, before the answer is given, and must not block.

#ifndef LOSSSCALER_SERVER_STORE_MEASURED_STORE_H_
#define LOSSSCALER_SERVER_STORE_MEASURED_STORE_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "store/forwarding_store.h"
#include "store/store.h"

namespace lossscaler::server {

class MeasuredStore final : public ForwardingStore {
 public:
  // From the hand-over of a write to its answer.
  using OnWrite = std::function<void(absl::Duration took, WriteResult result)>;

  MeasuredStore(std::unique_ptr<Store> store, OnWrite on_write)
      : ForwardingStore(std::move(store)),
        on_write_(std::make_shared<const OnWrite>(std::move(on_write))) {}

  void Commit(Write write, Done done) override;

 private:
  // The last answers come when this has gone.
  const std::shared_ptr<const OnWrite> on_write_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_MEASURED_STORE_H_
