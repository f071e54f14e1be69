// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The header of a NumPy .npy file, versions 1.0, 2.0 and 3.0.
//
// Source: NumPy's numpy.lib.format. A file is the magic string "\x93NUMPY", two
// bytes of version, the length of the header (2 bytes little-endian in version
// 1, 4 from version 2), the header, and the elements. The header is a Python
// dictionary of 'descr', 'fortran_order' and 'shape', padded with spaces and a
// line end so that the elements begin at a multiple of 64.
//
// Functions of bytes: no files are touched.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_NPY_HEADER_H_
#define LOSSSCALER_CTL_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lossscaler/core/element_type.h"

namespace lossscaler::ctl {

// Longer headers are refused. NumPy itself wants to be asked above 10,000
// bytes, and needs less than 2,000 for the 64 dimensions it can have.
inline constexpr std::size_t kMaxNpyHeaderBytes = std::size_t{64} << 10;
// Where the elements begin at the latest.
inline constexpr std::size_t kMaxNpyPrefixBytes = 12 + kMaxNpyHeaderBytes;
inline constexpr std::size_t kMaxNpyDimensions = 64;

struct NpyHeader {
  // 1, 2 or 3.
  int version = 1;
  // kFloat16, kFloat32 or kFloat64.
  ElementType type = ElementType::kFloat32;
  bool big_endian = false;
  // The first index runs fastest.
  bool fortran_order = false;
  // Empty: one element.
  std::vector<std::uint64_t> shape;

  // Where the elements begin, in bytes from the start of the file. Not written.
  std::size_t data_offset = 0;

  // Neither overflows in a header that ParseNpyHeader() returned.
  std::uint64_t element_count() const;
  std::uint64_t data_bytes() const;
};

// Reads the header of a file that begins with `bytes`: the whole file, or its
// first kMaxNpyPrefixBytes. INVALID_ARGUMENT, in the words of a sentence about
// the file ("is not ..."), for anything that is not a header of float16,
// float32 or float64 elements.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes);

// Everything of a file before its elements.
std::string NpyPrefix(const NpyHeader& header);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_HEADER_H_
