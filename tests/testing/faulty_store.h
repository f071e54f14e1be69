// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FaultyStore: a store whose writes and reads fail when a test says so.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_TESTS_TESTING_FAULTY_STORE_H_
#define LOSSSCALER_TESTS_TESTING_FAULTY_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "store/store.h"

namespace lossscaler::testing {

class FaultyStore final : public server::Store {
 public:
  enum class Fault {
    // Not written, and the answer says so.
    kNotWritten,
    // Written, but the answer is "unknown".
    kWrittenUnknown,
    // Not written, and the answer is "unknown".
    kLostUnknown,
  };

  // `inner` outlives this and keeps what is written.
  explicit FaultyStore(server::Store* inner) : inner_(inner) {}

  // Makes the next write fail; several calls make as many writes fail, in
  // order.
  void FailNextWrite(Fault fault) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    faults_.push_back(fault);
  }

  // Whether every read fails from now on.
  void FailReads(bool fail) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    reads_fail_ = fail;
  }

  // Sessions may have lost decisions, until they are restored.
  void LosePower() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    loss_ = ++losses_;
  }

  // From now on writes are made but their answers are held back.
  void Hold() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    holding_ = true;
  }

  // Answers held back now.
  int held() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return static_cast<int>(held_.size());
  }

  // Gives the oldest answer that is held back, on the calling thread; false if
  // there is none.
  bool ReleaseOne() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> answer;
    {
      MutexLock lock(&mutex_);
      if (held_.empty()) return false;
      answer = std::move(held_.front());
      held_.pop_front();
    }
    answer();
    return true;
  }

  // Stops holding and gives every answer that is held back, in order.
  void Release() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      holding_ = false;
    }
    while (ReleaseOne()) {
    }
  }

  // Writes asked for so far.
  int commits() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return commits_;
  }

  // Reload() calls so far, failed ones included.
  int reloads() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return reloads_;
  }

  std::string_view name() const override { return inner_->name(); }
  std::string_view durability() const override { return inner_->durability(); }
  std::int64_t start_count() const override { return inner_->start_count(); }

  absl::StatusOr<std::vector<server::StoredSession>> LoadAll() override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    absl::StatusOr<std::vector<server::StoredSession>> all = inner_->LoadAll();
    if (!all.ok()) return all;
    MutexLock lock(&mutex_);
    for (server::StoredSession& one : *all) one.loss = loss_;
    return all;
  }

  void Commit(server::Write write, Done done) override
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::optional<Fault> fault;
    {
      MutexLock lock(&mutex_);
      ++commits_;
      if (write.decision &&
          write.decision->reason == DecisionReason::kRestored) {
        loss_ = 0;
      }
      if (!faults_.empty()) {
        fault = faults_.front();
        faults_.pop_front();
        health_ = Failure();
      }
    }
    if (!fault || *fault == Fault::kWrittenUnknown) {
      inner_->Commit(std::move(write),
                     [this, fault, done = std::move(done)](
                         server::WriteResult result, absl::Status status) {
                       if (fault) {
                         Answer(done, server::WriteResult::kUnknown, Failure());
                       } else {
                         Answer(done, result, std::move(status));
                       }
                     });
      return;
    }
    Answer(done,
           *fault == Fault::kNotWritten ? server::WriteResult::kNotDone
                                        : server::WriteResult::kUnknown,
           Failure());
  }

  absl::StatusOr<std::optional<server::StoredSession>> Reload(
      std::string_view session_uid) override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      ++reloads_;
    }
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->Reload(session_uid);
  }

  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step) override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->FindDecision(session_uid, step);
  }

  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id) override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->FindDecisionByRequest(session_uid, request_id);
  }

  absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step,
      int limit) override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->ListDecisions(session_uid, before_step, limit);
  }

  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->ListDecisionsByIteration(session_uid, iteration, before_step,
                                            limit);
  }

  absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step,
      int limit) override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->ReadDecisions(session_uid, from_step, limit);
  }

  absl::StatusOr<std::optional<server::Deletion>> FindDeletion(
      std::string_view request_id) override {
    if (absl::Status status = ReadFault(); !status.ok()) return status;
    return inner_->FindDeletion(request_id);
  }

  // An error from a write that failed to the next one that is done.
  absl::Status Health() override ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return health_.ok() ? inner_->Health() : health_;
  }

 private:
  static absl::Status Failure() {
    return MakeRetryableError(Reason::kStoreUnavailable,
                              "the test made the store fail; try again",
                              absl::Seconds(1));
  }

  absl::Status ReadFault() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return reads_fail_ ? Failure() : absl::OkStatus();
  }

  void Answer(Done done, server::WriteResult result, absl::Status status)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (result == server::WriteResult::kDone) health_ = absl::OkStatus();
      if (holding_) {
        held_.push_back(
            [done = std::move(done), result, status] { done(result, status); });
        return;
      }
    }
    done(result, std::move(status));
  }

  server::Store* const inner_;

  Mutex mutex_;
  std::deque<Fault> faults_ ABSL_GUARDED_BY(mutex_);
  bool reads_fail_ ABSL_GUARDED_BY(mutex_) = false;
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> held_ ABSL_GUARDED_BY(mutex_);
  std::int64_t losses_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t loss_ ABSL_GUARDED_BY(mutex_) = 0;
  int commits_ ABSL_GUARDED_BY(mutex_) = 0;
  int reloads_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_FAULTY_STORE_H_
