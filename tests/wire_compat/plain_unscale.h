// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What plain peers share: an Unscale stream in terms of its proto messages and
// of bits, computed by the naive reference. Nothing here knows how our own
// server and client do it.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_H_
#define LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/v1/unscale.pb.h"
#include "testing/naive_unscale.h"

namespace lossscaler::testing {

// How the elements of a stream are treated.
struct PlainRules {
  double scale = 1;
  // 16-bit results are stored in the type of the input.
  bool same_type = false;
  // Verdicts only.
  bool check_only = false;
  bool statistics = true;

  static PlainRules Of(const v1::UnscaleOpen& open, double scale);

  ElementType OutputType(ElementType type) const;
};

ElementType PlainType(v1::ElementType type);
v1::ElementType PlainType(ElementType type);

struct PlainResult {
  // Also with check_only.
  std::vector<Bits> elements;
  v1::ChunkVerdict verdict;
};

// The answer to a run of elements from `offset` on.
PlainResult PlainUnscale(const PlainRules& rules, ElementType type,
                         std::span<const Bits> elements, std::int64_t offset);

// Adds what was found in a later run of the same tensor.
void AddVerdict(const v1::ChunkVerdict& part, v1::ChunkVerdict* whole);

std::string PackToString(ElementType type, std::span<const Bits> elements);
std::vector<Bits> UnpackString(ElementType type, const std::string& bytes);

// Gives `message` and every message in it fields that this version does not
// know, as a peer of a later version may. They are written after the known
// ones: behind the payload of a chunk.
void AddUnknownFields(google::protobuf::Message* message);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_H_
