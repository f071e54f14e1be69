// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/unscale_plan.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/memory_overlap.h"
#include "lossscaler/client/internal/utf8.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::internal {
namespace {

absl::Status Refuse(std::size_t index, const std::string& name,
                    const std::string& what, ErrorMetadata metadata = {}) {
  metadata.emplace_back("index", absl::StrCat(index));
  metadata.emplace_back("tensor", name);
  return MakeError(Reason::kInvalidTensor,
                   absl::StrCat("tensor ", index, " (\"", name, "\") ", what),
                   metadata);
}

std::string TypeText(ElementType type) {
  return std::string(ElementTypeName(type));
}

// Whether two elements have one address. a * i + b * j takes a value twice if
// and only if (b / g, a / g), the smallest step that changes nothing, fits.
bool ElementsCollide(const GradientTensor& tensor, const Layout& layout) {
  const auto a = static_cast<std::size_t>(std::abs(layout.inner_stride));
  const auto b = static_cast<std::size_t>(std::abs(layout.outer_stride));
  const std::size_t g = std::gcd(a, b);
  if (g == 0) return tensor.element_count() > 1;
  return b / g < tensor.inner_size && a / g < tensor.outer_size;
}

absl::Status CheckName(std::size_t index, const std::string& name) {
  if (name.size() > kMaxTensorNameBytes) {
    return Refuse(
        index, name.substr(0, 32) + "...",
        absl::StrCat("has a name of ", name.size(), " bytes; at most ",
                     kMaxTensorNameBytes, " are allowed"),
        {{"bytes", absl::StrCat(name.size())},
         {"limit", absl::StrCat(kMaxTensorNameBytes)}});
  }
  if (!IsUtf8(name)) {
    return Refuse(index, absl::StrCat("#", index),
                  "has a name that is not UTF-8; choose another");
  }
  return absl::OkStatus();
}

absl::Status CheckSize(std::size_t index, const GradientTensor& tensor) {
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max() / 8;
  if (tensor.outer_size != 0 && tensor.inner_size > kMost / tensor.outer_size) {
    return Refuse(
        index, tensor.name,
        absl::StrCat("claims ", tensor.inner_size, " x ", tensor.outer_size,
                     " elements, more than memory can hold"),
        {{"inner_size", absl::StrCat(tensor.inner_size)},
         {"outer_size", absl::StrCat(tensor.outer_size)}});
  }
  return absl::OkStatus();
}

absl::Status CheckOutput(std::size_t index, const GradientTensor& tensor) {
  if (!CanStore(tensor.type, tensor.output_type)) {
    return Refuse(
        index, tensor.name,
        absl::StrCat("cannot be stored as ", TypeText(tensor.output_type),
                     " when it is ", TypeText(tensor.type),
                     "; keep the type, or widen a 16-bit type to "
                     "float32"),
        {{"type", TypeText(tensor.type)},
         {"output_type", TypeText(tensor.output_type)}});
  }
  if (tensor.output == tensor.input &&
      (tensor.type != tensor.output_type ||
       tensor.input_layout != tensor.output_layout)) {
    return Refuse(index, tensor.name,
                  "is unscaled in place into another type or layout; in place "
                  "both must be the same");
  }
  if (ElementsCollide(tensor, tensor.output_layout)) {
    return Refuse(
        index, tensor.name,
        "has strides that store two elements at one place; give "
        "each element its own",
        {{"inner_stride", absl::StrCat(tensor.output_layout.inner_stride)},
         {"outer_stride", absl::StrCat(tensor.output_layout.outer_stride)}});
  }
  return absl::OkStatus();
}

// Results must not overwrite each other, nor gradients that are not read yet.
absl::Status CheckMemory(const std::vector<GradientTensor>& tensors) {
  std::vector<Footprint> footprints;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const GradientTensor& tensor = tensors[i];
    if (tensor.element_count() == 0) continue;
    const auto add = [&](const void* memory, const Layout& layout,
                         ElementType type, bool stored) {
      std::optional<Footprint> footprint =
          FootprintOf(tensor, memory, layout, ElementSize(type));
      if (!footprint) return false;
      footprint->tensor = i;
      footprint->stored = stored;
      footprints.push_back(*footprint);
      return true;
    };
    // In place, the result's memory is the input's.
    const bool fits =
        (tensor.output == tensor.input ||
         add(tensor.input, tensor.input_layout, tensor.type, false)) &&
        (tensor.output == nullptr ||
         add(tensor.output, tensor.output_layout, tensor.output_type, true));
    if (!fits) {
      return Refuse(i, tensor.name,
                    "has strides that reach further than memory does");
    }
  }
  const std::optional<SharedMemory> shared =
      FindSharedMemory(std::move(footprints));
  if (!shared) return absl::OkStatus();
  const std::string& name = tensors[shared->tensor].name;
  if (shared->tensor == shared->other) {
    return Refuse(shared->tensor, name,
                  "has a result that overlaps its gradients; unscale in place, "
                  "or into memory of its own");
  }
  const std::string& other = tensors[shared->other].name;
  return Refuse(
      shared->tensor, name,
      absl::StrCat("shares memory with tensor ", shared->other, " (\"", other,
                   "\") of the call; gradients would be divided "
                   "twice, or lost"),
      {{"other_index", absl::StrCat(shared->other)}, {"other_tensor", other}});
}

}  // namespace

absl::StatusOr<UnscalePlan> PlanUnscale(
    std::span<const GradientTensor> tensors) {
  if (tensors.empty()) {
    return MakeError(Reason::kNoTensors,
                     "the call names no tensor; give at least one (an empty "
                     "tensor is fine)");
  }
  UnscalePlan plan;
  plan.tensors.assign(tensors.begin(), tensors.end());
  std::set<std::string> names;
  std::optional<bool> check_only;
  std::optional<bool> keep_type;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    GradientTensor& tensor = plan.tensors[i];
    if (tensor.name.empty()) tensor.name = absl::StrCat("#", i);
    absl::Status status = CheckName(i, tensor.name);
    if (status.ok()) status = CheckSize(i, tensor);
    if (!status.ok()) return status;
    if (!names.insert(tensor.name).second) {
      return Refuse(i, tensor.name,
                    "has the name of another tensor of the call; names must "
                    "be unique");
    }

    const bool empty = tensor.element_count() == 0;
    if (!empty && tensor.input == nullptr) {
      return Refuse(i, tensor.name,
                    "has elements but no memory, or a result of another shape "
                    "than its input; check pointers and sizes");
    }
    if (tensor.output != nullptr || empty) {
      // An empty tensor takes the type it states, for its 16-bit neighbours.
      if (!empty) status = CheckOutput(i, tensor);
      if (!status.ok()) return status;
    } else if (!CanStore(tensor.type, tensor.output_type)) {
      tensor.output_type = WideType(tensor.type);
    }
    if (empty) continue;

    const bool checks = tensor.output == nullptr;
    if (check_only.value_or(checks) != checks) {
      return Refuse(i, tensor.name,
                    checks ? "has no output although tensors before it have; "
                             "check and unscale in separate calls"
                           : "has an output although tensors before it have "
                             "none; check and unscale in separate calls");
    }
    check_only = checks;
    if (ElementSize(tensor.type) == 2) {
      const bool keeps = tensor.output_type == tensor.type;
      if (keep_type.value_or(keeps) != keeps) {
        return Refuse(
            i, tensor.name,
            absl::StrCat("is stored as ", TypeText(tensor.output_type),
                         "; all 16-bit tensors of a call keep their "
                         "type, or all become float32"),
            {{"output_type", TypeText(tensor.output_type)}});
      }
      keep_type = keeps;
    }
  }
  const absl::Status memory = CheckMemory(plan.tensors);
  if (!memory.ok()) return memory;
  plan.check_only = check_only.value_or(false);
  plan.keep_type = keep_type.value_or(false);
  return plan;
}

}  // namespace lossscaler::internal
