// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ForwardingStore: a store in front of another, which it leaves everything to.
// What changes one thing derives from it.
//
// Thread safety: as the store behind it.

#ifndef LOSSSCALER_SERVER_STORE_FORWARDING_STORE_H_
#define LOSSSCALER_SERVER_STORE_FORWARDING_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/store.h"

namespace lossscaler::server {

class ForwardingStore : public Store {
 public:
  void Commit(Write write, Done done) override {
    store_->Commit(std::move(write), std::move(done));
  }
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

 protected:
  explicit ForwardingStore(std::unique_ptr<Store> store)
      : store_(std::move(store)) {}

 private:
  // It may still answer while it is destroyed: a class that derives must hold
  // nothing that its answers need, or outlive them otherwise.
  const std::unique_ptr<Store> store_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_FORWARDING_STORE_H_
