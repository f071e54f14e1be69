// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/header.h"

#include <bit>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ctl/npy/literal.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr char kAccepted[] =
    "float16, float32 and float64 ('<f2', '<f4', '<f8', or '>' for big-endian) "
    "are accepted";

template <typename... Parts>
absl::Status Refuse(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// The bytes before the header: magic, version, length.
std::size_t PreambleBytes(int version) { return version == 1 ? 10 : 12; }

absl::Status RefuseDictionary(LiteralReader* reader) {
  return Refuse("has a header that is no dictionary at ",
                Quoted(reader->TakeAnything()));
}

absl::Status RefuseType(std::string_view descr) {
  const bool structured = descr.starts_with('[') || descr.starts_with('(');
  const bool object = descr.find('O') != std::string_view::npos;
  return Refuse("holds ",
                structured ? "structured elements"
                : object   ? "Python objects"
                           : "elements of another type",
                ", descr ", Quoted(descr), "; ", kAccepted);
}

absl::Status ReadDescr(LiteralReader* reader, NpyHeader* header) {
  if (reader->AtUnclosedString()) return RefuseDictionary(reader);
  const std::optional<std::string_view> descr = reader->TakeString();
  if (!descr) return RefuseType(reader->TakeAnything());
  // What a quote that is missing makes of descr is no type.
  if (!reader->At(',') && !reader->At('}')) return RefuseDictionary(reader);
  std::string_view type = *descr;
  header->big_endian = std::endian::native == std::endian::big;
  // '=' and '|' are the byte order of the machine, as is none.
  if (type.starts_with('<') || type.starts_with('>')) {
    header->big_endian = type.front() == '>';
    type.remove_prefix(1);
  } else if (type.starts_with('=') || type.starts_with('|')) {
    type.remove_prefix(1);
  }
  if (type == "f2") {
    header->type = ElementType::kFloat16;
  } else if (type == "f4") {
    header->type = ElementType::kFloat32;
  } else if (type == "f8") {
    header->type = ElementType::kFloat64;
  } else {
    return RefuseType(*descr);
  }
  return absl::OkStatus();
}

absl::Status ReadOrder(LiteralReader* reader, NpyHeader* header) {
  const std::optional<bool> order = reader->TakeBool();
  if (!order) {
    return Refuse("has fortran_order ", Quoted(reader->TakeAnything()),
                  " where True or False belongs");
  }
  header->fortran_order = *order;
  return absl::OkStatus();
}

absl::Status RefuseShape(LiteralReader value) {
  return Refuse("has shape ", Quoted(value.TakeAnything()),
                " where a tuple of sizes belongs, such as (3, 4) or (3,)");
}

absl::Status ReadShape(LiteralReader* reader, NpyHeader* header) {
  const LiteralReader start = *reader;
  if (!reader->Take('(')) return RefuseShape(start);
  bool comma = true;
  while (!reader->Take(')')) {
    const std::optional<std::uint64_t> size =
        comma ? reader->TakeSize() : std::nullopt;
    if (!size) return RefuseShape(start);
    if (header->shape.size() == kMaxNpyDimensions) {
      return Refuse("has more than ", kMaxNpyDimensions, " dimensions");
    }
    header->shape.push_back(*size);
    comma = reader->Take(',');
  }
  // (3) is a number, not a tuple.
  if (header->shape.size() == 1 && !comma) return RefuseShape(start);
  return absl::OkStatus();
}

// Python's largest array has 2^63 - 1 bytes.
absl::Status CheckSize(const NpyHeader& header) {
  std::uint64_t most =
      std::numeric_limits<std::int64_t>::max() / ElementSize(header.type);
  for (const std::uint64_t size : header.shape) {
    if (size == 0) return absl::OkStatus();
  }
  for (const std::uint64_t size : header.shape) {
    if (size > most) {
      return Refuse("claims more elements than any memory can hold");
    }
    most /= size;
  }
  return absl::OkStatus();
}

absl::Status ReadDictionary(std::string_view text, NpyHeader* header) {
  LiteralReader reader(text);
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  bool comma = true;
  if (!reader.Take('{')) {
    return Refuse("has a header that is not a dictionary");
  }
  while (!reader.Take('}')) {
    const std::optional<std::string_view> key =
        comma ? reader.TakeString() : std::nullopt;
    if (!key || !reader.Take(':')) return RefuseDictionary(&reader);
    absl::Status status;
    const auto once = [&status, &key](bool* has) {
      if (*has) status = Refuse("names ", Quoted(*key), " twice in its header");
      *has = true;
      return status.ok();
    };
    if (*key == "descr") {
      if (once(&has_descr)) status = ReadDescr(&reader, header);
    } else if (*key == "fortran_order") {
      if (once(&has_order)) status = ReadOrder(&reader, header);
    } else if (*key == "shape") {
      if (once(&has_shape)) status = ReadShape(&reader, header);
    } else {
      status = Refuse("has a key in its header that .npy files have not: ",
                      Quoted(*key));
    }
    if (!status.ok()) return status;
    comma = reader.Take(',');
  }
  if (!reader.AtEnd()) {
    return Refuse("has a header that goes on after its dictionary");
  }
  if (!has_descr || !has_order || !has_shape) {
    return Refuse(
        "has a header without ",
        !has_descr ? "descr" : (!has_order ? "fortran_order" : "shape"));
  }
  return absl::OkStatus();
}

std::string DictionaryText(const NpyHeader& header) {
  std::string text =
      absl::StrCat("{'descr': '", header.big_endian ? ">" : "<", "f",
                   ElementSize(header.type), "', 'fortran_order': ",
                   header.fortran_order ? "True" : "False", ", 'shape': (");
  for (std::size_t i = 0; i < header.shape.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? " " : "", header.shape[i],
                    i + 1 < header.shape.size() || i == 0 ? "," : "");
  }
  text += "), }";
  return text;
}

}  // namespace

std::uint64_t NpyHeader::element_count() const {
  // A zero anywhere comes first: the other sizes may be any.
  for (const std::uint64_t size : shape) {
    if (size == 0) return 0;
  }
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) count *= size;
  return count;
}

std::uint64_t NpyHeader::data_bytes() const {
  return element_count() * ElementSize(type);
}

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes) {
  if (bytes.empty()) return Refuse("is empty");
  if (bytes.starts_with("PK\3\4")) {
    return Refuse("is an archive (.npz?); extract its .npy files first");
  }
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size())) {
    return Refuse("is not a .npy file: it does not begin with \\x93NUMPY");
  }
  const auto byte = [bytes](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  constexpr std::size_t kVersionEnd = 8;
  if (bytes.size() < kVersionEnd) {
    return Refuse("ends after ", bytes.size(), " bytes, within its header");
  }
  NpyHeader header;
  header.version = static_cast<int>(byte(6));
  if (header.version < 1 || header.version > 3 || byte(7) != 0) {
    return Refuse("is of .npy version ", byte(6), ".", byte(7),
                  "; 1.0, 2.0 and 3.0 are read");
  }
  const std::size_t preamble = PreambleBytes(header.version);
  if (bytes.size() < preamble) {
    return Refuse("ends after ", bytes.size(), " bytes, within its header");
  }
  std::size_t length = 0;
  for (std::size_t i = preamble; i-- > kVersionEnd;) {
    length = length * 256 + byte(i);
  }
  if (length > kMaxNpyHeaderBytes) {
    return Refuse("claims a header of ", length, " bytes; at most ",
                  kMaxNpyHeaderBytes, " are read");
  }
  header.data_offset = preamble + length;
  if (bytes.size() < header.data_offset) {
    return Refuse("ends after ", bytes.size(),
                  " bytes, within its header, which ends after ",
                  header.data_offset);
  }
  absl::Status status = ReadDictionary(bytes.substr(preamble, length), &header);
  if (status.ok()) status = CheckSize(header);
  if (!status.ok()) return status;
  return header;
}

std::string NpyPrefix(const NpyHeader& header) {
  std::string text = DictionaryText(header);
  const std::size_t preamble = PreambleBytes(header.version);
  // Spaces, and a line end as the last byte.
  const std::size_t used = preamble + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  text += '\n';

  std::string prefix(kMagic);
  prefix += static_cast<char>(header.version);
  prefix += '\0';
  for (std::size_t i = 8, length = text.size(); i < preamble; ++i) {
    prefix += static_cast<char>(length % 256);
    length /= 256;
  }
  return prefix + text;
}

}  // namespace lossscaler::ctl
