// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscaleStream: the protocol of one Unscale stream, without the transport.
//
// Checks the order of what a client sends, runs the kernel on each chunk, and
// leaves the stream's verdict with its session. What is read and what is
// answered passes through a ChunkPump.
//
// Thread safety: one thread at a time; what open() has fixed, any thread.

#ifndef LOSSSCALER_SERVER_SESSIONS_UNSCALE_STREAM_H_
#define LOSSSCALER_SERVER_SESSIONS_UNSCALE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/core/unscale.h"
#include "sessions/buffer_pool.h"
#include "sessions/reservation.h"
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

// The answer to one chunk.
struct ChunkAnswer {
  UnscaleVerdict verdict;
  // The unscaled values; none with CHECK_ONLY.
  PooledBuffer data;
};

class UnscaleStream {
 public:
  static constexpr std::size_t kMaxBadTensors = 64;
  static constexpr int kMaxReadAhead = 4;

  // How much of a stream there is at one time, at most; its memory is reserved
  // by it.
  struct Depth {
    // Chunks that were read and are not answered, the one that is being
    // computed included.
    int chunks = 1;
    // Answers that are being computed or written.
    int answers = 1;
  };

  // Errors as the proto lists them. `admission` has let the call in, pays for
  // its memory, and outlives the stream.
  //
  // The depth is the largest that fits into a fair share of the server's
  // memory, and at least one chunk and two answers; less of it where there is
  // less to be had, and where not even one chunk and its answer fit, the error
  // is TOO_MANY_BYTES.
  static absl::StatusOr<std::unique_ptr<UnscaleStream>> Open(
      std::shared_ptr<Session> session, StreamOpen open,
      StreamAdmission* admission);

  // Without Finish() the stream leaves no verdict. What it reserved is free
  // once its answers are, too.
  ~UnscaleStream() = default;

  UnscaleStream(const UnscaleStream&) = delete;
  UnscaleStream& operator=(const UnscaleStream&) = delete;

  const StepScale& scale() const { return scale_; }
  std::int64_t max_chunk_bytes() const { return max_chunk_bytes_; }
  bool statistics() const { return !open_.skip_statistics; }
  Depth depth() const { return depth_; }

  // Whether a chunk of so many bytes is the one that comes next. The error is
  // that of Chunk().
  absl::Status CheckChunk(int tensor, std::int64_t offset,
                          std::size_t bytes) const;

  // Unscales one chunk. After an error the stream is of no more use.
  absl::StatusOr<ChunkAnswer> Chunk(int tensor, std::int64_t offset,
                                    Fragments data);

  // The client has sent everything: the stream leaves its verdict.
  // STREAM_INCOMPLETE if it has not.
  absl::StatusOr<StreamSummary> Finish();

  // The summary could not be sent: takes the verdict back, because the client
  // believes that the stream broke.
  void Retract();

 private:
  UnscaleStream(std::shared_ptr<Session> session, StreamOpen open,
                StreamAdmission* admission, const StepScale& scale,
                std::int64_t max_chunk_bytes, std::int64_t max_answer_bytes,
                Depth depth, std::shared_ptr<const Reservation> reserved);

  ElementType OutputType(const StreamTensor& tensor) const;
  // Moves the cursor over `count` elements, and over everything that is empty.
  void Advance(std::int64_t count);
  // Lists the tensor that is being sent as bad, with all of it that has come.
  void ListCurrent();
  bool AtEnd() const { return cursor_.tensor == open_.tensors.size(); }

  const std::shared_ptr<Session> session_;
  // Tensors have names and ranges filled in.
  StreamOpen open_;
  StreamAdmission* const admission_;
  const StepScale scale_;
  const std::int64_t max_chunk_bytes_;
  // 0 with CHECK_ONLY.
  const std::int64_t max_answer_bytes_;
  const Depth depth_;
  // Shared with the answers that are out.
  const std::shared_ptr<const Reservation> reserved_;

  // The element that comes next.
  struct Cursor {
    std::size_t tensor = 0;
    std::size_t range = 0;
    std::int64_t offset = 0;
  };
  Cursor cursor_;
  UnscaleVerdict total_;
  // The tensor that is being sent, and what was found in it so far.
  StreamSummary::BadTensor current_{.tensor = -1, .verdict = {}};
  // Of tensors with non-finite values, ascending.
  std::vector<StreamSummary::BadTensor> bad_tensors_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_UNSCALE_STREAM_H_
