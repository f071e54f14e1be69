// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FailpointStore: a store that kills its process at a named moment of a named
// write, and otherwise leaves everything to another store.
//
//   before_step:7   the decision of step 7 has not been written
//   after_step:7    it has been written, and nobody has been told
//
// A failpoint lies here rather than in the server, so that no server that
// anybody installs has one.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_TESTS_TESTING_FAILPOINT_STORE_H_
#define LOSSSCALER_TESTS_TESTING_FAILPOINT_STORE_H_

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "store/store.h"

namespace lossscaler::testing {

struct Failpoint {
  enum class Place { kBeforeWrite, kAfterWrite };
  Place place = Place::kBeforeWrite;
  std::int64_t step = 0;

  // nullopt: no failpoint has this name.
  static std::optional<Failpoint> Parse(std::string_view name) {
    Failpoint parsed;
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view place = name.substr(0, colon);
    const std::string_view step = name.substr(colon + 1);
    if (place == "before_step") {
      parsed.place = Place::kBeforeWrite;
    } else if (place == "after_step") {
      parsed.place = Place::kAfterWrite;
    } else {
      return std::nullopt;
    }
    if (!absl::SimpleAtoi(absl::string_view(step.data(), step.size()),
                          &parsed.step)) {
      return std::nullopt;
    }
    return parsed;
  }
};

class FailpointStore final : public server::Store {
 public:
  FailpointStore(std::unique_ptr<server::Store> inner,
                 const Failpoint& failpoint)
      : inner_(std::move(inner)), failpoint_(failpoint) {}

  void Commit(server::Write write, Done done) override {
    const bool meant =
        write.decision && write.decision->step == failpoint_.step;
    if (meant && failpoint_.place == Failpoint::Place::kBeforeWrite) Die();
    if (meant) {
      done = [](server::WriteResult, const absl::Status&) { Die(); };
    }
    inner_->Commit(std::move(write), std::move(done));
  }

  std::string_view name() const override { return inner_->name(); }
  std::string_view durability() const override { return inner_->durability(); }
  std::int64_t start_count() const override { return inner_->start_count(); }
  absl::StatusOr<std::vector<server::StoredSession>> LoadAll() override {
    return inner_->LoadAll();
  }
  absl::StatusOr<std::optional<server::StoredSession>> Reload(
      std::string_view session_uid) override {
    return inner_->Reload(session_uid);
  }
  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step) override {
    return inner_->FindDecision(session_uid, step);
  }
  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id) override {
    return inner_->FindDecisionByRequest(session_uid, request_id);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step,
      int limit) override {
    return inner_->ListDecisions(session_uid, before_step, limit);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) override {
    return inner_->ListDecisionsByIteration(session_uid, iteration, before_step,
                                            limit);
  }
  absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step,
      int limit) override {
    return inner_->ReadDecisions(session_uid, from_step, limit);
  }
  absl::StatusOr<std::optional<server::Deletion>> FindDeletion(
      std::string_view request_id) override {
    return inner_->FindDeletion(request_id);
  }
  absl::Status Health() override { return inner_->Health(); }

 private:
  [[noreturn]] static void Die() {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }

  const std::unique_ptr<server::Store> inner_;
  const Failpoint failpoint_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_FAILPOINT_STORE_H_
