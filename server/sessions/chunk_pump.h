// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ChunkPump: the messages of one Unscale call, in and out, without the
// transport.
//
// While one chunk is computed, the next ones are read and the answer before it
// is written: up to the depth of the stream, which bounds what is in memory.
// Answers come in the order of the chunks. A chunk is computed on a thread that
// brought something to the pump, one at a time, and not under a lock.
//
//   transport  --Take...()-->  queue  -->  UnscaleStream  -->  ready  --> write
//              (read ahead)          (one computes)     (one waits)
//
// What ends the stream (an error, a half-close) takes its turn in the queue, so
// that everything before it is answered. Only a client that has gone, or that
// the server has given up, ends it out of turn. There is one Finish(), when no
// write is under way and nothing is computed; then the reservation of the
// stream is returned with the pump, or with the last answer that the transport
// still holds.
//
// Thread safety: any thread, at any time; but each Take...() answers one
// StartRead(), and Written() one StartWrite(). Outlives the calls to it that
// began before Finish().

#ifndef LOSSSCALER_SERVER_SESSIONS_CHUNK_PUMP_H_
#define LOSSSCALER_SERVER_SESSIONS_CHUNK_PUMP_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/core/unscale.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/buffer_pool.h"
#include "sessions/session.h"
#include "sessions/unscale_stream.h"

namespace lossscaler::server {

class ChunkPump {
 public:
  // The data of a chunk, where the transport has it. Let go of as soon as it
  // has been computed, on any thread.
  class Payload {
   public:
    virtual ~Payload() = default;
    virtual Fragments data() const = 0;
  };

  // What is written.
  struct Opened {
    StepScale scale;
    std::int64_t max_chunk_bytes = 0;
  };
  struct Unscaled {
    int tensor = 0;
    std::int64_t offset = 0;
    // Whether the verdict has sums and maxima.
    bool statistics = true;
    ChunkAnswer answer;
  };
  struct Summed {
    bool statistics = true;
    StreamSummary summary;
  };
  using Answer = std::variant<Opened, Unscaled, Summed>;

  // Called without a lock held, on any thread that calls the pump. A read and a
  // write may be started at the same time.
  class Transport {
   public:
    virtual ~Transport() = default;
    // Answered by one Take...().
    virtual void StartRead() = 0;
    // Answered by Written().
    virtual void StartWrite(Answer answer) = 0;
    // The last call, after all others have returned and with no write under
    // way; a read may be.
    virtual void Finish(const absl::Status& status) = 0;
  };

  explicit ChunkPump(Transport* transport) : transport_(transport) {}

  ChunkPump(const ChunkPump&) = delete;
  ChunkPump& operator=(const ChunkPump&) = delete;

  // Begins to read. Call once.
  void Start() { Run(); }

  // ---- A message has come.

  // `open` opens the stream; it is called now, or not at all if an `open` came
  // before.
  using Opener =
      absl::FunctionRef<absl::StatusOr<std::unique_ptr<UnscaleStream>>()>;
  void TakeOpen(Opener open) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeChunk(int tensor, std::int64_t offset,
                 std::unique_ptr<Payload> payload) ABSL_LOCKS_EXCLUDED(mutex_);
  // One that says nothing, or nothing that can be read: ends the stream.
  void TakeError(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  // No more messages come: the stream leaves its verdict, or has broken off.
  void TakeEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  // False: the client has gone.
  void Written(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);

  // The client has gone: nobody reads what is still to be written.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

  // Asked by whoever ends streams on which nothing has moved for long.
  enum class Idleness {
    // The server, not the client, keeps the stream waiting.
    kNone,
    // The client sent nothing: the stream ends with `error`.
    kNotSent,
    // The client does not take what is written; an error would queue behind it.
    kNotTaken,
  };
  Idleness EndIdle(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Chunk {
    int tensor = 0;
    std::int64_t offset = 0;
    std::size_t bytes = 0;
    // Null if it is larger than the stream allows: only its error is wanted.
    std::unique_ptr<Payload> payload;
  };
  struct HalfClose {};
  // An error ends the stream.
  using Message = std::variant<Chunk, HalfClose, absl::Status>;

  // What the stream makes of a message; an error, or nothing, ends it.
  using Outcome = absl::StatusOr<Answer>;

  // Does what there is to do, until nothing is left or others are at it.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // One thing of it, if any.
  bool Step() ABSL_LOCKS_EXCLUDED(mutex_);
  bool CanRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool CanCompute() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool CanFinish() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Nothing of what waits is done; what is ready is written all the same.
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(Message message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // ---- Of the one thread that computes.
  Outcome Open(Opener open) ABSL_LOCKS_EXCLUDED(mutex_);
  Outcome Compute(const Message& message);
  void Computed(Outcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);

  Transport* const transport_;

  // Set by TakeOpen(), before anybody reads it; used by who computes.
  std::unique_ptr<UnscaleStream> stream_;

  Mutex mutex_;
  enum class Phase { kNew, kOpening, kOpen };
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  UnscaleStream::Depth depth_ ABSL_GUARDED_BY(mutex_);
  std::deque<Message> queue_ ABSL_GUARDED_BY(mutex_);
  // The last message is in the queue, or was.
  bool no_more_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Answer> ready_ ABSL_GUARDED_BY(mutex_);

  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool computing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Calls of the transport that have not returned.
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;
  // The stream has left its verdict, but the client does not know yet.
  bool summary_owed_ ABSL_GUARDED_BY(mutex_) = false;
  // The answer under way is the summary.
  bool writing_summary_ ABSL_GUARDED_BY(mutex_) = false;
  // How the stream ends.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_CHUNK_PUMP_H_
