// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// StreamLedger: what the Unscale streams of a session's open step have found,
// for votes that say "what these streams of mine found".
//
// Volatile by design (rule R9): after a restart, or when too much would have to
// be remembered, a verdict is gone and the vote is told so (VERDICT_LOST);
// nothing is ever guessed.
//
// Thread safety: none; the session's lock guards it.

#ifndef LOSSSCALER_SERVER_SESSIONS_STREAM_LEDGER_H_
#define LOSSSCALER_SERVER_SESSIONS_STREAM_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/solo.h"
#include "sessions/byte_budget.h"

namespace lossscaler::server {

// Elements [offset, offset + count) of a tensor.
struct ElementRange {
  std::int64_t offset = 0;
  std::int64_t count = 0;

  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

// What a stream has covered of one tensor.
struct TensorCoverage {
  std::string name;
  std::int64_t element_count = 0;
  // Ascending and disjoint.
  std::vector<ElementRange> ranges;
};

class StreamLedger {
 public:
  // Streams remembered of one step.
  static constexpr int kMaxStreams = kMaxStreamsPerStep;

  // `budget` pays for what is remembered, and outlives the ledger.
  explicit StreamLedger(ByteBudget* budget) : budget_(budget) {}
  ~StreamLedger() { Clear(); }

  StreamLedger(const StreamLedger&) = delete;
  StreamLedger& operator=(const StreamLedger&) = delete;

  // STREAM_ID_USED if the id was opened before in this step; TOO_MANY_STREAMS
  // if the step has had kMaxStreams already.
  absl::Status Open(std::string_view stream_id);

  // The stream has come to its summary. One that never does stays open here
  // and has no verdict.
  void Finish(std::string_view stream_id, bool overflow,
              std::vector<TensorCoverage> coverage);

  // The stream's summary could not be sent: as if it had never come.
  void Retract(std::string_view stream_id);

  // What the listed streams found: OVERFLOW if any did, else FINITE.
  // NO_GRADIENTS_CHECKED if none is listed; VERDICT_LOST if one is unknown or
  // unfinished, if they do not cover every tensor whole, or if they disagree
  // about the size of one. The ids are unique, so that the work is bounded by
  // what is remembered.
  absl::StatusOr<Verdict> Resolve(
      const std::vector<std::string>& stream_ids) const;

  // The step is decided.
  void Clear();

 private:
  struct Entry {
    bool finished = false;
    bool overflow = false;
    std::vector<TensorCoverage> coverage;
    std::int64_t bytes = 0;
  };

  ByteBudget* const budget_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_STREAM_LEDGER_H_
