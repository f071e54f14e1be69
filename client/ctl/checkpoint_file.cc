// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/checkpoint_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <istream>
#include <string>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

// The largest checkpoint has less than 2 KiB.
constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

}  // namespace

absl::StatusOr<std::string> ReadCheckpointFile(const Environment& environment,
                                               const std::string& file) {
  std::ifstream opened;
  errno = 0;
  if (file != "-") opened.open(file, std::ios::binary);
  std::istream& stream = file == "-" ? environment.in : opened;
  std::string text(kMaxBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad() || (stream.fail() && !stream.eof())) {
    const std::string why = std::strerror(errno);
    return MakeError(Reason::kInvalidField,
                     absl::StrCat("cannot read ", Quoted(file), ": ", why),
                     {{"file", Quoted(file)}, {"error", why}});
  }
  if (text.size() > kMaxBytes) {
    return MakeError(
        Reason::kInvalidScaler,
        absl::StrCat(Quoted(file), " has more than ", kMaxBytes,
                     " bytes, which no checkpoint has; give what was saved, by "
                     "`lossscalerctl get NAME --checkpoint` or by a worker"),
        {{"file", Quoted(file)}, {"limit", absl::StrCat(kMaxBytes)}});
  }
  return text;
}

}  // namespace lossscaler::ctl
