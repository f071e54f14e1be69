// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/unscale_stream.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/unscale_fragments.h"

// Chunks are little-endian on the wire and go to the kernel as they are.
static_assert(std::endian::native == std::endian::little,
              "the server runs on little-endian machines only");

namespace lossscaler::server {
namespace {

absl::Status InvalidTensor(std::size_t index, const StreamTensor& tensor,
                           std::string_view what) {
  return MakeError(
      Reason::kInvalidTensor,
      absl::StrCat("tensor ", index, " (", Quoted(tensor.name), ") ",
                   std::string(what)),
      {{"tensor", absl::StrCat(index)}, {"name", Quoted(tensor.name)}});
}

absl::Status CheckRanges(std::size_t index, const StreamTensor& tensor) {
  std::int64_t end = 0;
  for (const ElementRange& range : tensor.ranges) {
    if (range.count < 1 || range.offset < end ||
        range.offset > tensor.element_count - range.count) {
      return InvalidTensor(
          index, tensor,
          absl::StrCat("has the range of ", range.count, " elements from ",
                       range.offset,
                       "; ranges must not be empty, must ascend "
                       "without overlap, and must end by element ",
                       tensor.element_count));
    }
    end = range.offset + range.count;
  }
  return absl::OkStatus();
}

// Checks the tensors, and fills in the names and ranges that were left out.
absl::Status CompleteTensors(const StreamAdmission& admission,
                             std::vector<StreamTensor>* tensors) {
  if (tensors->empty()) {
    return MakeError(Reason::kNoTensors,
                     "the stream lists no tensor; list at least one, it may be "
                     "empty");
  }
  if (absl::Status status = admission.CheckTensorCount(
          static_cast<std::int64_t>(tensors->size()));
      !status.ok()) {
    return status;
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    StreamTensor& tensor = (*tensors)[i];
    if (tensor.name.size() > kMaxTensorNameBytes) {
      return InvalidTensor(
          i, tensor,
          absl::StrCat("has a name of ", tensor.name.size(), " bytes; at most ",
                       kMaxTensorNameBytes, " are allowed"));
    }
    if (tensor.name.empty()) tensor.name = absl::StrCat("#", i);
    if (!names.insert(tensor.name).second) {
      return InvalidTensor(i, tensor,
                           "has the name of another tensor; names are unique "
                           "within a stream");
    }
    if (tensor.element_count < 0) {
      return InvalidTensor(
          i, tensor,
          absl::StrCat("has ", tensor.element_count,
                       " elements; the count must not be negative"));
    }
    if (absl::Status status = CheckRanges(i, tensor); !status.ok()) {
      return status;
    }
    if (tensor.ranges.empty() && tensor.element_count > 0) {
      tensor.ranges.push_back({.offset = 0, .count = tensor.element_count});
    }
  }
  return absl::OkStatus();
}

std::int64_t DescriptionBytes(const std::vector<StreamTensor>& tensors) {
  std::size_t bytes = 0;
  for (const StreamTensor& tensor : tensors) {
    bytes += sizeof(StreamTensor) + tensor.name.size() +
             tensor.ranges.size() * sizeof(ElementRange);
  }
  return static_cast<std::int64_t>(bytes);
}

struct Reserved {
  UnscaleStream::Depth depth;
  std::shared_ptr<const Reservation> reservation;
};

// Of the depths that a stream may have, the first that there is memory for.
absl::StatusOr<Reserved> Reserve(StreamAdmission* admission, std::int64_t chunk,
                                 std::int64_t answer,
                                 std::int64_t description) {
  const auto answer_bytes = static_cast<std::int64_t>(
      BufferPool::CapacityFor(static_cast<std::size_t>(answer)));
  std::vector<UnscaleStream::Depth> depths;
  const std::int64_t fitting =
      (admission->fair_share() - 2 * answer_bytes) / chunk;
  for (int chunks = static_cast<int>(
           std::clamp<std::int64_t>(fitting, 1, UnscaleStream::kMaxReadAhead));
       chunks >= 1; --chunks) {
    depths.push_back({.chunks = chunks, .answers = 2});
  }
  depths.push_back({.chunks = 1, .answers = 1});
  absl::Status refused;
  for (const UnscaleStream::Depth& depth : depths) {
    absl::StatusOr<std::shared_ptr<const Reservation>> reservation =
        admission->Reserve(depth.chunks * chunk + depth.answers * answer_bytes +
                           description);
    if (reservation.ok()) {
      return Reserved{.depth = depth, .reservation = *std::move(reservation)};
    }
    refused = reservation.status();
  }
  return refused;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnscaleStream>> UnscaleStream::Open(
    std::shared_ptr<Session> session, StreamOpen open,
    StreamAdmission* admission) {
  if (absl::Status status = ValidateId("stream_id", open.stream_id);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CompleteTensors(*admission, &open.tensors);
      !status.ok()) {
    return status;
  }
  if (open.max_chunk_bytes < 0) {
    return MakeError(Reason::kInvalidField,
                     absl::StrCat("max_chunk_bytes is ", open.max_chunk_bytes,
                                  "; name the largest chunk in bytes, or leave "
                                  "it out"),
                     {{"field", "max_chunk_bytes"},
                      {"value", absl::StrCat(open.max_chunk_bytes)}});
  }
  const bool widens = !open.check_only && !open.same_type &&
                      std::any_of(open.tensors.begin(), open.tensors.end(),
                                  [](const StreamTensor& tensor) {
                                    return WideType(tensor.type) != tensor.type;
                                  });
  std::int64_t chunk = widens ? kMaxChunkBytes / 2 : kMaxChunkBytes;
  if (open.max_chunk_bytes > 0) chunk = std::min(chunk, open.max_chunk_bytes);
  const std::int64_t answer = open.check_only ? 0 : (widens ? 2 : 1) * chunk;

  const absl::StatusOr<StepScale> scale = session->ScaleOf(open.step);
  if (!scale.ok()) return scale.status();
  absl::StatusOr<Reserved> reserved =
      Reserve(admission, chunk, answer, DescriptionBytes(open.tensors));
  if (!reserved.ok()) return reserved.status();
  if (absl::Status status =
          session->OpenStream(open.worker, scale->step, open.stream_id);
      !status.ok()) {
    return status;
  }
  return std::unique_ptr<UnscaleStream>(new UnscaleStream(
      std::move(session), std::move(open), admission, *scale, chunk, answer,
      reserved->depth, std::move(reserved->reservation)));
}

UnscaleStream::UnscaleStream(std::shared_ptr<Session> session, StreamOpen open,
                             StreamAdmission* admission, const StepScale& scale,
                             std::int64_t max_chunk_bytes,
                             std::int64_t max_answer_bytes, Depth depth,
                             std::shared_ptr<const Reservation> reserved)
    : session_(std::move(session)),
      open_(std::move(open)),
      admission_(admission),
      scale_(scale),
      max_chunk_bytes_(max_chunk_bytes),
      max_answer_bytes_(max_answer_bytes),
      depth_(depth),
      reserved_(std::move(reserved)) {
  if (!open_.tensors.front().ranges.empty()) {
    cursor_.offset = open_.tensors.front().ranges.front().offset;
  }
  Advance(0);
}

absl::StatusOr<ChunkAnswer> UnscaleStream::Chunk(int tensor,
                                                 std::int64_t offset,
                                                 Fragments data) {
  const std::size_t bytes = TotalBytes(data);
  if (absl::Status status = CheckChunk(tensor, offset, bytes); !status.ok()) {
    return status;
  }
  const StreamTensor& spec = open_.tensors[cursor_.tensor];
  const ElementType output_type = OutputType(spec);
  const std::size_t count = bytes / ElementSize(spec.type);
  PooledBuffer output =
      open_.check_only
          ? PooledBuffer()
          : admission_->buffers().Take(
                count * ElementSize(output_type),
                static_cast<std::size_t>(max_answer_bytes_), reserved_);
  const UnscaleVerdict verdict =
      UnscaleFragments(spec.type, data, output_type, output.data(),
                       static_cast<std::uint64_t>(offset),
                       {.scale = scale_.scale,
                        .arithmetic = scale_.arithmetic,
                        .statistics = statistics()});
  session_->NoteUnscaled(static_cast<std::int64_t>(bytes), verdict);
  if (current_.tensor != tensor) current_ = {.tensor = tensor, .verdict = {}};
  current_.verdict.Merge(verdict);
  if (current_.verdict.overflow()) ListCurrent();
  total_.Merge(verdict);
  Advance(static_cast<std::int64_t>(count));
  return ChunkAnswer{.verdict = verdict, .data = std::move(output)};
}

void UnscaleStream::ListCurrent() {
  if (!bad_tensors_.empty() && bad_tensors_.back().tensor == current_.tensor) {
    bad_tensors_.back() = current_;
  } else if (bad_tensors_.size() < kMaxBadTensors) {
    bad_tensors_.push_back(current_);
  }
}

absl::StatusOr<StreamSummary> UnscaleStream::Finish() {
  if (!AtEnd()) {
    const StreamTensor& tensor = open_.tensors[cursor_.tensor];
    return MakeError(
        Reason::kStreamIncomplete,
        absl::StrCat("the stream was closed before tensor ", cursor_.tensor,
                     " (", Quoted(tensor.name), ") from element ",
                     cursor_.offset,
                     " on was sent; send every range that `open` lists"),
        {{"tensor", absl::StrCat(cursor_.tensor)},
         {"name", Quoted(tensor.name)},
         {"offset", absl::StrCat(cursor_.offset)}});
  }
  std::vector<TensorCoverage> coverage;
  coverage.reserve(open_.tensors.size());
  for (StreamTensor& tensor : open_.tensors) {
    coverage.push_back({.name = std::move(tensor.name),
                        .element_count = tensor.element_count,
                        .ranges = std::move(tensor.ranges)});
  }
  session_->FinishStream(open_.worker, scale_.step, open_.stream_id,
                         total_.overflow(), std::move(coverage));
  StreamSummary summary{.verdict = total_,
                        .bad_tensors = std::move(bad_tensors_)};
  // An index without its tensor says nothing.
  summary.verdict.first_bad_index.reset();
  return summary;
}

void UnscaleStream::Retract() {
  session_->RetractStream(open_.worker, scale_.step, open_.stream_id);
}

ElementType UnscaleStream::OutputType(const StreamTensor& tensor) const {
  return open_.same_type ? tensor.type : WideType(tensor.type);
}

absl::Status UnscaleStream::CheckChunk(int tensor, std::int64_t offset,
                                       std::size_t bytes) const {
  const ErrorMetadata where = {{"tensor", absl::StrCat(tensor)},
                               {"offset", absl::StrCat(offset)},
                               {"bytes", absl::StrCat(bytes)}};
  const std::string chunk =
      absl::StrCat("the chunk of tensor ", tensor, " from element ", offset);
  if (tensor < 0 || static_cast<std::size_t>(tensor) >= open_.tensors.size()) {
    return MakeError(Reason::kUnknownTensor,
                     absl::StrCat(chunk,
                                  " names a tensor that `open` does not "
                                  "list; it lists ",
                                  open_.tensors.size()),
                     where);
  }
  if (static_cast<std::int64_t>(bytes) > max_chunk_bytes_) {
    ErrorMetadata metadata = where;
    metadata.emplace_back("limit", absl::StrCat(max_chunk_bytes_));
    return MakeError(Reason::kChunkTooLarge,
                     absl::StrCat(chunk, " has ", bytes,
                                  " bytes; this stream's "
                                  "limit is ",
                                  max_chunk_bytes_),
                     metadata);
  }
  if (AtEnd()) {
    return MakeError(Reason::kChunkOverrun,
                     absl::StrCat(chunk,
                                  " comes after everything that `open` "
                                  "lists was sent; half-close instead"),
                     where);
  }
  const StreamTensor& expected = open_.tensors[cursor_.tensor];
  if (static_cast<std::size_t>(tensor) != cursor_.tensor ||
      offset != cursor_.offset) {
    ErrorMetadata metadata = where;
    metadata.emplace_back("expected_tensor", absl::StrCat(cursor_.tensor));
    metadata.emplace_back("expected_offset", absl::StrCat(cursor_.offset));
    return MakeError(
        Reason::kChunkOutOfOrder,
        absl::StrCat(chunk, " is out of order: next is tensor ", cursor_.tensor,
                     " from element ", cursor_.offset,
                     "; send the listed ranges in order, without gap or "
                     "overlap"),
        metadata);
  }
  const std::size_t size = ElementSize(expected.type);
  if (bytes == 0 || bytes % size != 0) {
    return MakeError(
        Reason::kPartialElement,
        absl::StrCat(chunk, " has ", bytes,
                     " bytes, which is not one or more "
                     "whole elements of ",
                     size, " bytes (",
                     std::string(ElementTypeName(expected.type)), ")"),
        where);
  }
  const ElementRange& range = expected.ranges[cursor_.range];
  const std::int64_t left = range.offset + range.count - offset;
  if (static_cast<std::int64_t>(bytes / size) > left) {
    return MakeError(Reason::kChunkOverrun,
                     absl::StrCat(chunk, " has ", bytes / size,
                                  " elements but its range "
                                  "has only ",
                                  left, " left"),
                     where);
  }
  return absl::OkStatus();
}

void UnscaleStream::Advance(std::int64_t count) {
  cursor_.offset += count;
  while (!AtEnd()) {
    const std::vector<ElementRange>& ranges =
        open_.tensors[cursor_.tensor].ranges;
    if (cursor_.range < ranges.size()) {
      const ElementRange& range = ranges[cursor_.range];
      if (cursor_.offset < range.offset + range.count) return;
      ++cursor_.range;
    }
    if (cursor_.range >= ranges.size()) {
      cursor_.range = 0;
      ++cursor_.tensor;
    }
    if (AtEnd()) return;
    const std::vector<ElementRange>& next =
        open_.tensors[cursor_.tensor].ranges;
    if (cursor_.range < next.size()) {
      cursor_.offset = next[cursor_.range].offset;
    }
  }
}

}  // namespace lossscaler::server
