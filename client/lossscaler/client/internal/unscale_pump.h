// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscalePump: one call to Unscale, over as many streams as it takes.
//
// It gathers elements into chunks, bounds how many are under way, checks every
// answer, scatters the results into the caller's memory and remembers what is
// answered. A stream that breaks is followed by another one for the rest:
// what was answered may have been overwritten in place, so it is never sent
// again, and what was not answered still holds its old value, so it can be.
//
// The transport never sees the caller's memory. gRPC (of every version so far)
// ends no call and closes no connection while its peer does not take what is
// being written; on a unix socket that has no end. Memory that is lent cannot
// be had back then, but a copy can be left behind, and the copy costs little:
// it is still in the cache when the kernel copies it (measured: no speed on
// TCP, a twentieth on a unix socket).
//
// The transport is outside (unscale_stream.h): this class knows no gRPC. For
// each stream, in this order:
//
//   BeginStream()
//   WaitForStream()                and within, as the transport carries it:
//     TakeWrite(), WriteDone()     one write at a time
//     OnOpened(), OnChunk(), ...
//     OnStreamDone()               last
//
// Thread safety: one thread, that of the call.

#ifndef LOSSSCALER_CLIENT_INTERNAL_UNSCALE_PUMP_H_
#define LOSSSCALER_CLIENT_INTERNAL_UNSCALE_PUMP_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/client/internal/chunk_buffers.h"
#include "lossscaler/client/internal/unscale_plan.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::internal {

struct PumpOptions {
  // Payload of a chunk as sent, in bytes.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  // Sent and not answered.
  int max_chunks_in_flight = 4;
  // Whether answers carry sum_of_squares and absolute_maximum.
  bool statistics = true;
  // The step that the caller named.
  std::optional<std::int64_t> step;
  // Told how many bytes of the gradients, as given, are answered, every
  // watch_interval.
  std::function<void(std::uint64_t)> watch;
  absl::Duration watch_interval = absl::Milliseconds(100);
  // How long a stream may take to end once it was cancelled.
  absl::Duration end_patience = absl::Seconds(1);
};

// A tensor that a stream has to open: index into UnscalePlan.tensors, and the
// first element to send. 0: the whole tensor.
struct TensorRest {
  std::size_t index = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const TensorRest&, const TensorRest&) = default;
};

// A chunk to send. `tensor` counts what the stream has opened.
struct OutgoingChunk {
  std::int32_t tensor = 0;
  std::int64_t offset = 0;
  // In `buffer`. A copy, never the caller's memory: a transport whose peer has
  // stopped reading keeps what it was given, for as long as that lasts.
  std::string_view data;
  // Goes back to the pump's buffers when nobody holds it; may outlive the pump.
  std::shared_ptr<const std::byte> buffer;
};

enum class Write { kNothing, kChunk, kHalfClose };

// The server's messages, taken apart.
struct OpenedAnswer {
  double scale = 0.0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t max_chunk_bytes = 0;
};

struct VerdictAnswer {
  bool overflow = false;
  bool has_statistics = false;
  // element_count is not on the wire; the pump fills it in.
  UnscaleVerdict verdict;
};

struct ChunkAnswer {
  std::int32_t tensor = 0;
  std::int64_t offset = 0;
  VerdictAnswer verdict;
  // Anywhere but in the caller's tensors.
  Fragments data;
};

struct SummaryAnswer {
  VerdictAnswer verdict;
  std::int64_t element_count = 0;
};

// How a stream is carried. The pump calls it on its own thread.
struct StreamCarrier {
  // Lets messages come and go for so long, or until the stream has ended or an
  // answer was refused.
  std::function<void(absl::Duration at_most)> carry;
  // The stream shall end. Called at most once.
  std::function<void()> cancel;
};

class UnscalePump {
 public:
  // `plan` and the memory it names outlive the pump.
  UnscalePump(const UnscalePlan& plan, const PumpOptions& options);

  // Starts the next stream and says what it must open. The write of `open`
  // counts as under way.
  std::vector<TensorRest> BeginStream();

  // Has the stream carried until it has ended and says how:
  //   OK                 with its summary; then everything is answered;
  //   MALFORMED_ANSWER   the server broke the rules;
  //   UNAVAILABLE        nothing moved for `stall_timeout`, and the stream was
  //                      cancelled;
  //   otherwise          as OnStreamDone() says.
  // A stream that does not end within end_patience of being cancelled counts as
  // ended: nothing of it may call the pump afterwards.
  absl::Status WaitForStream(absl::Duration stall_timeout,
                             const StreamCarrier& carrier);

  // The next write, if one may start now; it is under way until WriteDone().
  // kHalfClose comes once, after the last chunk.
  Write TakeWrite(OutgoingChunk* chunk);
  void WriteDone();

  // An answer arrived. False: it breaks the rules, and the stream will be
  // cancelled.
  bool OnOpened(const OpenedAnswer& opened);
  bool OnChunk(const ChunkAnswer& answer);
  bool OnSummary(const SummaryAnswer& summary);
  // It was none of these.
  bool OnUnknown();
  // It was no message.
  bool OnUnreadable();

  void OnStreamDone(const absl::Status& status);

  // The step and scale that the first `opened` named.
  std::optional<OpenedAnswer> opened() const;
  // Whether every element was answered and the scale is known.
  bool complete() const;
  // Rises when answers arrive.
  std::uint64_t answers() const;
  // What was found so far, for each tensor of the plan.
  std::vector<UnscaleVerdict> verdicts() const;

 private:
  struct InFlight {
    // Index into the plan.
    std::size_t tensor = 0;
    // Index into what the stream opened.
    std::int32_t opened_as = 0;
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
  };

  // Until the stream has ended (false) or nothing has moved for so long.
  bool Stalls(absl::Duration stall_timeout, const StreamCarrier& carrier);
  // Elements of a tensor that go into one chunk.
  std::uint64_t ChunkElements(const GradientTensor& tensor) const;
  // Moves the send position past tensors that have nothing (left) to send.
  void SkipSent();
  bool AllAnswered() const;
  absl::Status CheckOpened(const OpenedAnswer& opened) const;
  absl::Status CheckChunk(const ChunkAnswer& answer) const;
  absl::Status CheckSummary(const SummaryAnswer& summary) const;
  // Notes the first failure of a stream. Returns whether `status` is OK.
  bool Accept(const absl::Status& status);

  const UnscalePlan& plan_;
  const PumpOptions options_;
  ChunkBuffers buffers_;

  // The call.
  std::optional<OpenedAnswer> opened_;
  // Answers come in the order of the chunks: a prefix of each tensor.
  std::vector<std::uint64_t> answered_;
  std::vector<UnscaleVerdict> verdicts_;
  std::uint64_t answers_ = 0;
  std::uint64_t bytes_answered_ = 0;

  // The stream.
  std::vector<TensorRest> rest_;
  std::size_t send_tensor_ = 0;  // Index into rest_.
  std::uint64_t send_offset_ = 0;
  std::size_t max_payload_ = 0;
  std::deque<InFlight> in_flight_;
  UnscaleVerdict stream_total_;
  bool writing_ = false;
  bool stream_opened_ = false;
  bool half_closed_ = false;
  bool summarized_ = false;
  absl::Status failure_;
  std::optional<absl::Status> done_;
  // Counts everything that moves; what a stalled stream does not change.
  std::uint64_t moves_ = 0;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_UNSCALE_PUMP_H_
