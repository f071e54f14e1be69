// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// MeasuredStore: a store that tells how long each of its writes took.
//
// Thread safety: as the store in it. The callable is called from the store's
// threads, before the answer is given, and must not block.

#ifndef LOSSSCALER_SERVER_STORE_MEASURED_STORE_H_
#define LOSSSCALER_SERVER_STORE_MEASURED_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "store/store.h"

namespace lossscaler::server {

class MeasuredStore final : public Store {
 public:
  // From the hand-over of a write to its answer.
  using OnWrite = std::function<void(absl::Duration took, WriteResult result)>;

  MeasuredStore(std::unique_ptr<Store> store, OnWrite on_write)
      : on_write_(std::move(on_write)), store_(std::move(store)) {}

  void Commit(Write write, Done done) override;

  std::string_view name() const override { return store_->name(); }
  std::string_view durability() const override { return store_->durability(); }
  std::int64_t start_count() const override { return store_->start_count(); }
  absl::StatusOr<std::vector<StoredSession>> LoadAll() override {
    return store_->LoadAll();
  }
  absl::StatusOr<std::optional<StoredSession>> Reload(
      std::string_view session_uid) override {
    return store_->Reload(session_uid);
  }
  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step) override {
    return store_->FindDecision(session_uid, step);
  }
  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id) override {
    return store_->FindDecisionByRequest(session_uid, request_id);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step,
      int limit) override {
    return store_->ListDecisions(session_uid, before_step, limit);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) override {
    return store_->ListDecisionsByIteration(session_uid, iteration, before_step,
                                            limit);
  }
  absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step,
      int limit) override {
    return store_->ReadDecisions(session_uid, from_step, limit);
  }
  absl::StatusOr<std::optional<Deletion>> FindDeletion(
      std::string_view request_id) override {
    return store_->FindDeletion(request_id);
  }
  absl::Status Health() override { return store_->Health(); }

 private:
  const OnWrite on_write_;
  // Destroyed first: it may still answer then.
  const std::unique_ptr<Store> store_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_MEASURED_STORE_H_
