// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/unscale_pump.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/strided_copy.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/wire_limits.h"

namespace lossscaler::internal {
namespace {

// Payloads are little-endian and are copied as they lie in memory.
static_assert(std::endian::native == std::endian::little);

// How often a stream is looked at within its stall timeout.
constexpr int kStallTicks = 4;
// No clock can be asked for ever and a day.
constexpr absl::Duration kLongestTick = absl::Hours(1);

absl::Status Malformed(const std::string& what, const ErrorMetadata& metadata) {
  return MakeError(
      Reason::kMalformedAnswer,
      absl::StrCat(what,
                   "; the server does not keep to the Unscale protocol: drop "
                   "these gradients and check its version"),
      metadata);
}

absl::Status Unexpected(const std::string& field, const std::string& got,
                        const std::string& want) {
  return Malformed(absl::StrCat("an answer has ", field, " ", got, " where ",
                                want, " was expected"),
                   {{"field", field}, {"got", got}, {"expected", want}});
}

// Counts, flags, index and statistics of `count` elements from `offset` on
// must fit together, or nothing the server says can be trusted.
absl::Status CheckVerdict(const VerdictAnswer& answer, std::uint64_t offset,
                          std::uint64_t count, bool statistics,
                          bool has_index) {
  const UnscaleVerdict& verdict = answer.verdict;
  const std::uint64_t counts[] = {
      verdict.nan_count, verdict.positive_infinity_count,
      verdict.negative_infinity_count, verdict.flushed_to_zero};
  std::uint64_t sum = 0;
  for (const std::uint64_t n : counts) {
    // A negative count arrives as a huge one; each is bounded before the sum.
    if (n > count || (sum += n) > count) {
      return Unexpected("a count of elements",
                        absl::StrCat(static_cast<std::int64_t>(n)),
                        absl::StrCat("at most ", count, " in all"));
    }
  }
  if (answer.overflow != verdict.overflow()) {
    return Unexpected(
        "overflow", answer.overflow ? "true" : "false",
        absl::StrCat("what its counts of ", sum - verdict.flushed_to_zero,
                     " non-finite elements say"));
  }
  if (has_index) {
    const auto& index = verdict.first_bad_index;
    if (index.has_value() != answer.overflow) {
      return Unexpected("first_bad_index", index ? "set" : "unset",
                        answer.overflow ? "an index" : "none");
    }
    if (index && (*index < offset || *index - offset >= count)) {
      return Unexpected(
          "first_bad_index", absl::StrCat(*index),
          absl::StrCat("an index in [", offset, ", ", offset + count, ")"));
    }
  }
  if (answer.has_statistics != statistics) {
    return Unexpected("statistics", answer.has_statistics ? "set" : "unset",
                      statistics ? "set" : "unset");
  }
  // Squares may overflow to infinity; neither can be NaN or negative.
  if (statistics &&
      (!(verdict.sum_of_squares >= 0) || !(verdict.absolute_maximum >= 0) ||
       std::isinf(verdict.absolute_maximum))) {
    return Unexpected("statistics",
                      absl::StrCat(NumberText(verdict.sum_of_squares), " and ",
                                   NumberText(verdict.absolute_maximum)),
                      "a sum of squares and a finite maximum");
  }
  return absl::OkStatus();
}

}  // namespace

UnscalePump::UnscalePump(const UnscalePlan& plan, const PumpOptions& options)
    : plan_(plan),
      options_(options),
      buffers_(options.chunk_bytes),
      answered_(plan.tensors.size(), 0),
      verdicts_(plan.tensors.size()) {}

std::vector<TensorRest> UnscalePump::BeginStream() {
  rest_.clear();
  for (std::size_t i = 0; i < answered_.size(); ++i) {
    // Empty tensors go along until the server has seen them once: a stream
    // needs a tensor, and the call a scale.
    if (answered_[i] < plan_.tensors[i].element_count() || !opened_) {
      rest_.push_back({.index = i, .offset = answered_[i]});
    }
  }
  send_tensor_ = 0;
  send_offset_ = rest_.empty() ? 0 : rest_.front().offset;
  SkipSent();
  max_payload_ = 0;
  in_flight_.clear();
  stream_total_ = {};
  writing_ = true;
  stream_opened_ = half_closed_ = summarized_ = false;
  failure_ = absl::OkStatus();
  done_.reset();
  return rest_;
}

bool UnscalePump::Stalls(absl::Duration stall_timeout,
                         const StreamCarrier& carrier) {
  // A watcher is told now and then, not of every answer.
  const absl::Duration tick =
      std::min({stall_timeout / kStallTicks, kLongestTick,
                options_.watch ? options_.watch_interval : kLongestTick});
  std::uint64_t seen = moves_;
  absl::Duration quiet;
  while (!done_ && failure_.ok()) {
    carrier.carry(tick);
    if (done_ || !failure_.ok()) break;
    quiet = moves_ == seen ? quiet + tick : absl::ZeroDuration();
    seen = moves_;
    if (options_.watch) options_.watch(bytes_answered_);
    if (quiet >= stall_timeout) return true;
  }
  return false;
}

absl::Status UnscalePump::WaitForStream(absl::Duration stall_timeout,
                                        const StreamCarrier& carrier) {
  const bool stalled = Stalls(stall_timeout, carrier);
  if (!done_) {
    carrier.cancel();
    carrier.carry(options_.end_patience);
  }
  if (!failure_.ok()) return failure_;
  if (stalled) {
    return absl::UnavailableError(absl::StrCat(
        "nothing moved on the stream for ", absl::FormatDuration(stall_timeout),
        " (stream_stall_timeout, or what was left of unavailable_budget), so "
        "it was cancelled"));
  }
  if (done_->ok() && !summarized_) {
    return Malformed("the stream ended well but without a summary", {});
  }
  return *done_;
}

std::uint64_t UnscalePump::ChunkElements(const GradientTensor& tensor) const {
  const std::size_t in = ElementSize(tensor.type);
  std::size_t elements = std::min(options_.chunk_bytes, max_payload_) / in;
  if (!plan_.check_only) {
    // The answer is a message too, and may be wider.
    elements =
        std::min(elements, kMaxPayloadBytes / ElementSize(tensor.output_type));
  }
  return std::max<std::size_t>(elements, 1);
}

void UnscalePump::SkipSent() {
  while (send_tensor_ < rest_.size() &&
         send_offset_ ==
             plan_.tensors[rest_[send_tensor_].index].element_count()) {
    ++send_tensor_;
    if (send_tensor_ < rest_.size()) send_offset_ = rest_[send_tensor_].offset;
  }
}

Write UnscalePump::TakeWrite(OutgoingChunk* chunk) {
  if (writing_ || !stream_opened_ || half_closed_ || !failure_.ok()) {
    return Write::kNothing;
  }
  if (send_tensor_ == rest_.size()) {
    half_closed_ = true;
    return Write::kHalfClose;
  }
  if (in_flight_.size() >=
      static_cast<std::size_t>(std::max(1, options_.max_chunks_in_flight))) {
    return Write::kNothing;
  }
  const std::size_t index = rest_[send_tensor_].index;
  const GradientTensor& tensor = plan_.tensors[index];
  const InFlight taken{
      .tensor = index,
      .opened_as = static_cast<std::int32_t>(send_tensor_),
      .offset = send_offset_,
      .count = std::min<std::uint64_t>(ChunkElements(tensor),
                                       tensor.element_count() - send_offset_)};
  send_offset_ += taken.count;
  SkipSent();
  in_flight_.push_back(taken);
  writing_ = true;

  const StridedShape shape = InputShape(tensor);
  const std::size_t bytes = taken.count * shape.element_size;
  const std::shared_ptr<std::byte> buffer = buffers_.Take();
  Gather(tensor.input, shape, taken.offset, taken.count, buffer.get());
  chunk->tensor = taken.opened_as;
  chunk->offset = static_cast<std::int64_t>(taken.offset);
  chunk->data = {reinterpret_cast<const char*>(buffer.get()), bytes};
  chunk->buffer = buffer;
  return Write::kChunk;
}

void UnscalePump::WriteDone() {
  writing_ = false;
  ++moves_;
}

absl::Status UnscalePump::CheckOpened(const OpenedAnswer& opened) const {
  if (stream_opened_) return Malformed("the stream was opened twice", {});
  if (!std::isfinite(opened.scale) || opened.scale < kMinScale ||
      opened.scale > kMaxScale) {
    return Unexpected("scale", NumberText(opened.scale),
                      "a normal float32 greater than zero");
  }
  if (opened.step < 1) {
    return Unexpected("step", absl::StrCat(opened.step), "1 or more");
  }
  if (options_.step && opened.step != *options_.step) {
    return Unexpected("step", absl::StrCat(opened.step),
                      absl::StrCat(*options_.step));
  }
  if (opened_ &&
      (opened.step != opened_->step || opened.scale != opened_->scale)) {
    return Unexpected(
        "step and scale",
        absl::StrCat(opened.step, " and ", NumberText(opened.scale)),
        absl::StrCat(opened_->step, " and ", NumberText(opened_->scale),
                     ", as in the part before the stream was resumed,"));
  }
  if (opened.max_chunk_bytes < 8) {
    return Unexpected("max_chunk_bytes", absl::StrCat(opened.max_chunk_bytes),
                      "room for an element");
  }
  return absl::OkStatus();
}

bool UnscalePump::OnOpened(const OpenedAnswer& opened) {
  if (!Accept(CheckOpened(opened))) return false;
  stream_opened_ = true;
  max_payload_ = static_cast<std::size_t>(opened.max_chunk_bytes);
  if (!opened_) {
    opened_ = opened;
    ++answers_;
  }
  return true;
}

absl::Status UnscalePump::CheckChunk(const ChunkAnswer& answer) const {
  if (in_flight_.empty()) {
    return Malformed(
        absl::StrCat("an answer for tensor ", answer.tensor, " at offset ",
                     answer.offset, " came although nothing is unanswered"),
        {{"tensor", absl::StrCat(answer.tensor)},
         {"offset", absl::StrCat(answer.offset)}});
  }
  const InFlight& asked = in_flight_.front();
  if (answer.tensor != asked.opened_as) {
    return Unexpected("tensor", absl::StrCat(answer.tensor),
                      absl::StrCat(asked.opened_as));
  }
  if (answer.offset < 0 ||
      static_cast<std::uint64_t>(answer.offset) != asked.offset) {
    return Unexpected("offset", absl::StrCat(answer.offset),
                      absl::StrCat(asked.offset));
  }
  const GradientTensor& tensor = plan_.tensors[asked.tensor];
  const std::size_t bytes =
      plan_.check_only ? 0 : asked.count * ElementSize(tensor.output_type);
  const std::size_t got = TotalBytes(answer.data);
  if (got != bytes) {
    return Unexpected("a payload of", absl::StrCat(got),
                      absl::StrCat(bytes, " bytes"));
  }
  return CheckVerdict(answer.verdict, asked.offset, asked.count,
                      options_.statistics, /*has_index=*/true);
}

bool UnscalePump::OnChunk(const ChunkAnswer& answer) {
  if (!Accept(CheckChunk(answer))) return false;
  const InFlight asked = in_flight_.front();
  in_flight_.pop_front();
  const GradientTensor& tensor = plan_.tensors[asked.tensor];
  if (!plan_.check_only) {
    ScatterFragments(answer.data, OutputShape(tensor), asked.offset,
                     asked.count, tensor.output);
  }
  UnscaleVerdict verdict = answer.verdict.verdict;
  verdict.element_count = asked.count;
  answered_[asked.tensor] = asked.offset + asked.count;
  bytes_answered_ += asked.count * ElementSize(tensor.type);
  verdicts_[asked.tensor].Merge(verdict);
  stream_total_.Merge(verdict);
  ++answers_;
  return true;
}

absl::Status UnscalePump::CheckSummary(const SummaryAnswer& summary) const {
  if (summarized_) return Malformed("the stream was summarized twice", {});
  if (!stream_opened_ || !half_closed_ || !in_flight_.empty()) {
    return Malformed("the summary came before every chunk was answered",
                     {{"unanswered", absl::StrCat(in_flight_.size())}});
  }
  const UnscaleVerdict& want = stream_total_;
  if (summary.element_count < 0 ||
      static_cast<std::uint64_t>(summary.element_count) != want.element_count) {
    return Unexpected("element_count", absl::StrCat(summary.element_count),
                      absl::StrCat(want.element_count));
  }
  absl::Status status =
      CheckVerdict(summary.verdict, 0, want.element_count, options_.statistics,
                   /*has_index=*/false);
  if (!status.ok()) return status;
  // The sum depends on the order of additions; everything else does not.
  const UnscaleVerdict& got = summary.verdict.verdict;
  if (got.nan_count != want.nan_count ||
      got.positive_infinity_count != want.positive_infinity_count ||
      got.negative_infinity_count != want.negative_infinity_count ||
      got.flushed_to_zero != want.flushed_to_zero ||
      (options_.statistics && got.absolute_maximum != want.absolute_maximum)) {
    return Malformed(
        "the summary of the stream differs from the sum of its chunks", {});
  }
  return absl::OkStatus();
}

bool UnscalePump::OnSummary(const SummaryAnswer& summary) {
  if (!Accept(CheckSummary(summary))) return false;
  summarized_ = true;
  return true;
}

bool UnscalePump::OnUnknown() {
  return Accept(
      Malformed("an answer is neither opened, chunk nor summary", {}));
}

bool UnscalePump::OnUnreadable() {
  return Accept(Malformed("an answer is no message of this protocol", {}));
}

bool UnscalePump::Accept(const absl::Status& status) {
  ++moves_;
  if (failure_.ok()) failure_ = status;
  return status.ok();
}

void UnscalePump::OnStreamDone(const absl::Status& status) { done_ = status; }

std::optional<OpenedAnswer> UnscalePump::opened() const { return opened_; }

bool UnscalePump::AllAnswered() const {
  for (std::size_t i = 0; i < answered_.size(); ++i) {
    if (answered_[i] < plan_.tensors[i].element_count()) return false;
  }
  return true;
}

bool UnscalePump::complete() const {
  return opened_.has_value() && failure_.ok() && AllAnswered();
}

std::uint64_t UnscalePump::answers() const { return answers_; }

std::vector<UnscaleVerdict> UnscalePump::verdicts() const { return verdicts_; }

}  // namespace lossscaler::internal
