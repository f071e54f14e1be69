// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscalePeer: an honest server for an UnscalePump, without a network.

#ifndef LOSSSCALER_TESTS_TESTING_UNSCALE_PEER_H_
#define LOSSSCALER_TESTS_TESTING_UNSCALE_PEER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lossscaler/client/internal/unscale_pump.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::testing {

// An answer with the bytes that it views.
struct OwnedAnswer {
  internal::ChunkAnswer answer;
  std::string data;
  // What View() names: `data`, cut within an element where it has one.
  std::vector<std::string_view> pieces;

  internal::ChunkAnswer View() {
    const std::string_view all = data;
    pieces = {all.substr(0, all.size() / 2 + 1)};
    pieces.push_back(all.substr(pieces.front().size()));
    internal::ChunkAnswer view = answer;
    view.data = pieces;
    return view;
  }
};

class UnscalePeer {
 public:
  UnscalePeer(const internal::UnscalePlan& plan, double scale,
              bool statistics = true)
      : plan_(plan), scale_(scale), statistics_(statistics) {}

  // The stream that is served from here on.
  void Serve(std::vector<internal::TensorRest> opened) {
    opened_ = std::move(opened);
    total_ = {};
  }

  internal::OpenedAnswer Opened() const {
    return {.scale = scale_,
            .step = 7,
            .epoch = 1,
            .max_chunk_bytes = max_chunk_bytes};
  }

  OwnedAnswer Answer(const internal::OutgoingChunk& chunk) {
    const GradientTensor& tensor =
        plan_.tensors[opened_[static_cast<std::size_t>(chunk.tensor)].index];
    const std::size_t count = chunk.data.size() / ElementSize(tensor.type);
    OwnedAnswer owned;
    if (!plan_.check_only) {
      owned.data.resize(count * ElementSize(tensor.output_type));
    }
    const UnscaleVerdict verdict =
        Unscale(tensor.type, chunk.data.data(), count, tensor.output_type,
                plan_.check_only ? nullptr : owned.data.data(),
                static_cast<std::uint64_t>(chunk.offset),
                {.scale = scale_, .statistics = statistics_});
    total_.Merge(verdict);
    owned.answer.tensor = chunk.tensor;
    owned.answer.offset = chunk.offset;
    owned.answer.verdict = Wire(verdict);
    return owned;
  }

  internal::SummaryAnswer Summary() const {
    internal::SummaryAnswer summary;
    summary.verdict = Wire(total_);
    summary.element_count = static_cast<std::int64_t>(total_.element_count);
    return summary;
  }

  std::int64_t max_chunk_bytes = 1 << 20;

 private:
  internal::VerdictAnswer Wire(const UnscaleVerdict& verdict) const {
    internal::VerdictAnswer wire{.overflow = verdict.overflow(),
                                 .has_statistics = statistics_,
                                 .verdict = verdict};
    wire.verdict.element_count = 0;
    return wire;
  }

  const internal::UnscalePlan& plan_;
  const double scale_;
  const bool statistics_;
  std::vector<internal::TensorRest> opened_;
  UnscaleVerdict total_;
};

// Of a stream that has ended, or that stands still.
inline internal::StreamCarrier NothingToCarry() {
  return {.carry = [](absl::Duration) {}, .cancel = [] {}};
}

// Runs one stream on the calling thread, as fast as the pump sends. After
// `answers` chunks are answered it breaks with `broken`; a negative number
// never breaks it. Returns how the stream ended.
inline absl::Status RunStream(
    internal::UnscalePump* pump, UnscalePeer* peer, int answers = -1,
    const absl::Status& broken = absl::UnavailableError("connection lost")) {
  const auto end = [&](const absl::Status& status) {
    pump->OnStreamDone(status);
    return pump->WaitForStream(absl::InfiniteDuration(), NothingToCarry());
  };
  peer->Serve(pump->BeginStream());
  pump->WriteDone();  // Of `open`.
  if (!pump->OnOpened(peer->Opened())) return end(absl::CancelledError());
  std::deque<OwnedAnswer> queue;
  for (;;) {
    internal::OutgoingChunk chunk;
    internal::Write write;
    while ((write = pump->TakeWrite(&chunk)) == internal::Write::kChunk) {
      queue.push_back(peer->Answer(chunk));
      pump->WriteDone();
    }
    if (answers == 0) return end(broken);
    if (queue.empty()) break;
    if (!pump->OnChunk(queue.front().View())) {
      return end(absl::CancelledError());
    }
    queue.pop_front();
    --answers;
  }
  if (!pump->OnSummary(peer->Summary())) return end(absl::CancelledError());
  return end(absl::OkStatus());
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_UNSCALE_PEER_H_
