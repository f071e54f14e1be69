// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The unscale kernel over input that lies in pieces.
//
// Thread safety: as Unscale().

#ifndef LOSSSCALER_CORE_UNSCALE_FRAGMENTS_H_
#define LOSSSCALER_CORE_UNSCALE_FRAGMENTS_H_

#include <cstdint>

#include "lossscaler/core/element_type.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler {

// As Unscale() on the pieces put together; an element may straddle any number
// of them. Values, counts, index and maximum have the same bits however the
// input is cut; the sum is within the tolerance that UnscaleVerdict states.
// `output` may be null, and does not overlap the input.
//
// REQUIRES: CanStore(input_type, output_type), and the pieces together are a
// whole number of elements.
UnscaleVerdict UnscaleFragments(ElementType input_type, Fragments input,
                                ElementType output_type, void* output,
                                std::uint64_t first_index,
                                const UnscaleParameters& parameters);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_FRAGMENTS_H_
