// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "wire_compat/plain_unscale.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::testing {
namespace {

// Of no field of unscale.proto, and below that of `data`.
constexpr int kUnknownField = 14;

}  // namespace

PlainRules PlainRules::Of(const v1::UnscaleOpen& open, double scale) {
  return {.scale = scale,
          .same_type = open.output_type() == v1::OUTPUT_TYPE_SAME,
          .check_only = open.mode() == v1::UNSCALE_MODE_CHECK_ONLY,
          .statistics = !open.skip_statistics()};
}

ElementType PlainRules::OutputType(ElementType type) const {
  if (same_type || type == ElementType::kFloat64) return type;
  return ElementType::kFloat32;
}

ElementType PlainType(v1::ElementType type) {
  switch (type) {
    case v1::ELEMENT_TYPE_FLOAT16:
      return ElementType::kFloat16;
    case v1::ELEMENT_TYPE_BFLOAT16:
      return ElementType::kBFloat16;
    case v1::ELEMENT_TYPE_FLOAT64:
      return ElementType::kFloat64;
    default:
      return ElementType::kFloat32;
  }
}

v1::ElementType PlainType(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return v1::ELEMENT_TYPE_FLOAT32;
    case ElementType::kFloat16:
      return v1::ELEMENT_TYPE_FLOAT16;
    case ElementType::kBFloat16:
      return v1::ELEMENT_TYPE_BFLOAT16;
    case ElementType::kFloat64:
      break;
  }
  return v1::ELEMENT_TYPE_FLOAT64;
}

PlainResult PlainUnscale(const PlainRules& rules, ElementType type,
                         std::span<const Bits> elements, std::int64_t offset) {
  NaiveResult naive =
      NaiveUnscale(type, elements, rules.OutputType(type),
                   static_cast<std::uint64_t>(offset),
                   {.scale = rules.scale, .statistics = rules.statistics});
  PlainResult result{.elements = std::move(naive.elements), .verdict = {}};
  const UnscaleVerdict& found = naive.verdict;
  v1::ChunkVerdict& verdict = result.verdict;
  verdict.set_overflow(found.first_bad_index.has_value());
  verdict.set_nan_count(static_cast<std::int64_t>(found.nan_count));
  verdict.set_positive_infinity_count(
      static_cast<std::int64_t>(found.positive_infinity_count));
  verdict.set_negative_infinity_count(
      static_cast<std::int64_t>(found.negative_infinity_count));
  verdict.set_flushed_to_zero(static_cast<std::int64_t>(found.flushed_to_zero));
  if (found.first_bad_index) {
    verdict.set_first_bad_index(
        static_cast<std::int64_t>(*found.first_bad_index));
  }
  if (rules.statistics) {
    verdict.set_sum_of_squares(found.sum_of_squares);
    verdict.set_absolute_maximum(found.absolute_maximum);
  }
  return result;
}

void AddVerdict(const v1::ChunkVerdict& part, v1::ChunkVerdict* whole) {
  whole->set_overflow(whole->overflow() || part.overflow());
  whole->set_nan_count(whole->nan_count() + part.nan_count());
  whole->set_positive_infinity_count(whole->positive_infinity_count() +
                                     part.positive_infinity_count());
  whole->set_negative_infinity_count(whole->negative_infinity_count() +
                                     part.negative_infinity_count());
  whole->set_flushed_to_zero(whole->flushed_to_zero() + part.flushed_to_zero());
  if (part.has_first_bad_index() && !whole->has_first_bad_index()) {
    whole->set_first_bad_index(part.first_bad_index());
  }
  if (part.has_sum_of_squares()) {
    whole->set_sum_of_squares(whole->sum_of_squares() + part.sum_of_squares());
    whole->set_absolute_maximum(
        std::max(whole->absolute_maximum(), part.absolute_maximum()));
  }
}

std::string PackToString(ElementType type, std::span<const Bits> elements) {
  const std::vector<std::byte> bytes = Pack(type, elements);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<Bits> UnpackString(ElementType type, const std::string& bytes) {
  return Unpack(type, std::as_bytes(std::span(bytes)));
}

void AddUnknownFields(google::protobuf::Message* message) {
  const google::protobuf::Reflection* const reflection =
      message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const google::protobuf::FieldDescriptor* const field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      AddUnknownFields(reflection->MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      AddUnknownFields(reflection->MutableRepeatedMessage(message, field, i));
    }
  }
  google::protobuf::UnknownFieldSet* const unknown =
      reflection->MutableUnknownFields(message);
  unknown->AddVarint(kUnknownField, 7);
  unknown->AddLengthDelimited(kUnknownField + 2)->assign("later");
}

}  // namespace lossscaler::testing
