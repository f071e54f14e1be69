// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes as the beginning of a .npy file: they are refused, or what is read
// of them survives being written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ctl/npy/header.h"
#include "ctl/npy/position.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using lossscaler::ctl::NpyHeader;
  using lossscaler::ctl::ParseNpyHeader;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(bytes);
  if (!header.ok()) {
    if (header.status().message().empty()) std::abort();
    return 0;
  }
  if (header->data_offset > size) std::abort();
  const absl::StatusOr<NpyHeader> again =
      ParseNpyHeader(lossscaler::ctl::NpyPrefix(*header));
  if (!again.ok() || again->shape != header->shape ||
      again->type != header->type || again->version != header->version ||
      again->big_endian != header->big_endian ||
      again->fortran_order != header->fortran_order) {
    std::abort();
  }
  if (header->element_count() > 0) {
    lossscaler::ctl::PositionOf(header->element_count() - 1, *header);
  }
  return 0;
}
