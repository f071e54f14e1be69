// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/chunk_pump.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {

void ChunkPump::TakeOpen(Opener open) {
  bool first;
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    first = phase_ == Phase::kNew && !end_;
    if (first) {
      phase_ = Phase::kOpening;
      computing_ = true;
    } else {
      Enqueue(
          MakeError(Reason::kOpenedTwice,
                    "the stream was opened twice; send `open` once, first"));
    }
  }
  if (first) {
    Computed(Open(open));
  }
  Run();
}

ChunkPump::Outcome ChunkPump::Open(Opener open) {
  absl::StatusOr<std::unique_ptr<UnscaleStream>> stream = open();
  if (!stream.ok()) return stream.status();
  stream_ = *std::move(stream);
  MutexLock lock(&mutex_);
  phase_ = Phase::kOpen;
  depth_ = stream_->depth();
  return Opened{.scale = stream_->scale(),
                .max_chunk_bytes = stream_->max_chunk_bytes()};
}

void ChunkPump::TakeChunk(int tensor, std::int64_t offset,
                          std::unique_ptr<Payload> payload) {
  Chunk chunk{.tensor = tensor,
              .offset = offset,
              .bytes = TotalBytes(payload->data()),
              .payload = std::move(payload)};
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    if (phase_ != Phase::kOpen) {
      Enqueue(MakeError(Reason::kChunkBeforeOpen,
                        "a chunk came before `open`; send `open` first"));
    } else {
      if (chunk.bytes > static_cast<std::size_t>(stream_->max_chunk_bytes())) {
        // No memory was reserved for it.
        chunk.payload.reset();
        no_more_ = true;
      }
      Enqueue(std::move(chunk));
    }
  }
  Run();
}

void ChunkPump::TakeError(const absl::Status& error) {
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    Enqueue(error);
  }
  Run();
}

void ChunkPump::TakeEnd() {
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    if (phase_ == Phase::kNew) {
      Enqueue(
          MakeError(Reason::kChunkBeforeOpen,
                    "the stream was closed before `open`; send `open` first"));
    } else {
      Enqueue(HalfClose());
    }
  }
  Run();
}

void ChunkPump::Written(bool ok) {
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) {
      ready_.reset();
      End(absl::CancelledError("the client has gone away"));
    } else if (writing_summary_) {
      summary_owed_ = false;
      End(absl::OkStatus());
    }
  }
  Run();
}

void ChunkPump::Abandon() {
  {
    MutexLock lock(&mutex_);
    ready_.reset();
    End(absl::CancelledError("the call was cancelled"));
  }
  Run();
}

ChunkPump::Idleness ChunkPump::EndIdle(const absl::Status& error) {
  {
    MutexLock lock(&mutex_);
    if (finished_) return Idleness::kNotSent;
    if (computing_ || starting_ > 0) return Idleness::kNone;
    if (writing_) return Idleness::kNotTaken;
    End(error);
  }
  Run();
  return Idleness::kNotSent;
}

bool ChunkPump::CanRead() const {
  if (reading_ || no_more_ || end_ || phase_ == Phase::kOpening) return false;
  const int chunks = static_cast<int>(queue_.size()) + (computing_ ? 1 : 0);
  return chunks < depth_.chunks;
}

bool ChunkPump::CanCompute() const {
  const int answers = (writing_ ? 1 : 0) + (ready_ ? 1 : 0);
  return !computing_ && !end_ && !queue_.empty() && answers < depth_.answers;
}

bool ChunkPump::CanFinish() const {
  return end_ && !computing_ && !ready_ && !writing_ && starting_ == 0 &&
         !finished_;
}

void ChunkPump::End(const absl::Status& status) {
  if (end_) return;
  end_ = status;
  queue_.clear();
}

void ChunkPump::Enqueue(Message message) {
  if (!std::holds_alternative<Chunk>(message)) no_more_ = true;
  if (!end_) queue_.push_back(std::move(message));
}

ChunkPump::Outcome ChunkPump::Compute(const Message& message) {
  if (const auto* error = std::get_if<absl::Status>(&message)) return *error;
  if (const auto* chunk = std::get_if<Chunk>(&message)) {
    if (chunk->payload == nullptr) {
      return stream_->CheckChunk(chunk->tensor, chunk->offset, chunk->bytes);
    }
    absl::StatusOr<ChunkAnswer> answer =
        stream_->Chunk(chunk->tensor, chunk->offset, chunk->payload->data());
    if (!answer.ok()) return answer.status();
    return Unscaled{.tensor = chunk->tensor,
                    .offset = chunk->offset,
                    .statistics = stream_->statistics(),
                    .answer = *std::move(answer)};
  }
  absl::StatusOr<StreamSummary> summary = stream_->Finish();
  if (!summary.ok()) return summary.status();
  return Summed{.statistics = stream_->statistics(),
                .summary = *std::move(summary)};
}

void ChunkPump::Computed(Outcome outcome) {
  MutexLock lock(&mutex_);
  computing_ = false;
  if (!outcome.ok()) return End(outcome.status());
  summary_owed_ = std::holds_alternative<Summed>(*outcome);
  if (!end_) ready_ = *std::move(outcome);
}

void ChunkPump::Run() {
  while (Step()) {
  }
}

bool ChunkPump::Step() {
  std::optional<Answer> answer;
  std::optional<Message> message;
  std::optional<absl::Status> end;
  bool retract = false;
  {
    MutexLock lock(&mutex_);
    if (ready_ && !writing_) {
      answer = std::exchange(ready_, std::nullopt);
      writing_ = true;
      writing_summary_ = std::holds_alternative<Summed>(*answer);
      ++starting_;
    } else if (CanRead()) {
      reading_ = true;
      ++starting_;
    } else if (CanCompute()) {
      message = std::move(queue_.front());
      queue_.pop_front();
      computing_ = true;
    } else if (CanFinish()) {
      finished_ = true;
      end = end_;
      retract = summary_owed_;
    } else {
      return false;
    }
  }
  if (end) {
    // The client believes that the stream broke.
    if (retract) stream_->Retract();
    transport_->Finish(*end);
    return false;
  }
  if (message) {
    Outcome outcome = Compute(*message);
    // Its memory first, so that it does not count beside the next chunk.
    message.reset();
    Computed(std::move(outcome));
    return true;
  }
  if (answer) {
    transport_->StartWrite(*std::move(answer));
  } else {
    transport_->StartRead();
  }
  MutexLock lock(&mutex_);
  --starting_;
  return true;
}

}  // namespace lossscaler::server
