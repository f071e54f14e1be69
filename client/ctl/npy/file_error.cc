// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/file_error.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/utf8.h"

namespace lossscaler::ctl {

std::string PathText(const std::string& path) {
  const bool printable =
      internal::IsUtf8(path) &&
      std::none_of(path.begin(), path.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      });
  return printable ? path : absl::CHexEscape(path);
}

absl::Status FileError(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(PathText(path), ": ", std::string(what)));
}

absl::Status FileErrno(const std::string& path, std::string_view what,
                       int error_number) {
  return FileError(path,
                   absl::StrCat(std::string(what), ": ",
                                std::generic_category().message(error_number)));
}

absl::Status WriteErrno(const std::string& path, std::string_view what,
                        int error_number) {
  return absl::FailedPreconditionError(
      FileErrno(path, what, error_number).message());
}

}  // namespace lossscaler::ctl
