// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscaleStream: the protocol of one Unscale stream, without the transport.
//
// Checks the order of what a client sends, runs the kernel on each chunk, and
// leaves the stream's verdict with its session. The transport forwards
// messages to it and answers what it says.
//
// Thread safety: one thread at a time.

#ifndef LOSSSCALER_SERVER_SESSIONS_UNSCALE_STREAM_H_
#define LOSSSCALER_SERVER_SESSIONS_UNSCALE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/core/unscale.h"
#include "sessions/session.h"
#include "sessions/stream_admission.h"
#include "sessions/stream_ledger.h"

namespace lossscaler::server {

struct StreamTensor {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::int64_t element_count = 0;
  // None: all elements.
  std::vector<ElementRange> ranges;
};

struct StreamOpen {
  std::optional<std::int64_t> step;
  // In a group: whose gradients they are. Empty in a solo session.
  WorkerRef worker;
  std::string stream_id;
  std::vector<StreamTensor> tensors;
  // Store 16-bit results in the type of the input instead of float32.
  bool same_type = false;
  // Answer with verdicts only.
  bool check_only = false;
  // 0: the largest allowed.
  std::int64_t max_chunk_bytes = 0;
  bool skip_statistics = false;
};

struct StreamSummary {
  UnscaleVerdict verdict;
  struct BadTensor {
    int tensor = 0;
    UnscaleVerdict verdict;
  };
  // In the order of the tensors, the first kMaxBadTensors.
  std::vector<BadTensor> bad_tensors;
};

class UnscaleStream {
 public:
  static constexpr std::size_t kMaxBadTensors = 64;

  // Errors as the proto lists them. `admission` has let the call in, pays for
  // its memory, and outlives the stream.
  static absl::StatusOr<std::unique_ptr<UnscaleStream>> Open(
      std::shared_ptr<Session> session, StreamOpen open,
      StreamAdmission* admission);

  // Without Finish() the stream leaves no verdict.
  ~UnscaleStream();

  UnscaleStream(const UnscaleStream&) = delete;
  UnscaleStream& operator=(const UnscaleStream&) = delete;

  const StepScale& scale() const { return scale_; }
  std::int64_t max_chunk_bytes() const { return max_chunk_bytes_; }
  bool statistics() const { return !open_.skip_statistics; }

  // Unscales one chunk into `output`, which is cleared for CHECK_ONLY. After
  // an error the stream is of no more use.
  absl::StatusOr<UnscaleVerdict> Chunk(int tensor, std::int64_t offset,
                                       std::string_view data,
                                       std::string* output);

  // The client has sent everything: the stream leaves its verdict.
  // STREAM_INCOMPLETE if it has not.
  absl::StatusOr<StreamSummary> Finish();

  // The summary could not be sent: takes the verdict back, because the client
  // believes that the stream broke.
  void Retract();

 private:
  UnscaleStream(std::shared_ptr<Session> session, StreamOpen open,
                StreamAdmission* admission, const StepScale& scale,
                std::int64_t max_chunk_bytes, std::int64_t reserved_bytes);

  ElementType OutputType(const StreamTensor& tensor) const;
  absl::Status CheckChunk(int tensor, std::int64_t offset,
                          std::size_t bytes) const;
  // Moves the cursor over `count` elements, and over everything that is empty.
  void Advance(std::int64_t count);
  bool AtEnd() const { return cursor_.tensor == open_.tensors.size(); }

  const std::shared_ptr<Session> session_;
  // Tensors have names and ranges filled in.
  StreamOpen open_;
  StreamAdmission* const admission_;
  const StepScale scale_;
  const std::int64_t max_chunk_bytes_;
  const std::int64_t reserved_bytes_;

  // The element that comes next.
  struct Cursor {
    std::size_t tensor = 0;
    std::size_t range = 0;
    std::int64_t offset = 0;
  };
  Cursor cursor_;
  UnscaleVerdict total_;
  // Of tensors with non-finite values, ascending.
  std::vector<StreamSummary::BadTensor> bad_tensors_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_UNSCALE_STREAM_H_
