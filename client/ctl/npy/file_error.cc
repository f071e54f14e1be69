// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/file_error.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/utf8.h"

namespace lossscaler::ctl {
namespace {

absl::Status Error(Reason reason, const std::string& path,
                   std::string_view what, ErrorMetadata metadata) {
  metadata.emplace_back("file", path);
  return MakeError(
      reason, absl::StrCat(PathText(path), ": ", std::string(what)), metadata);
}

absl::Status ErrnoError(Reason reason, const std::string& path,
                        std::string_view what, int error_number,
                        std::string_view then, ErrorMetadata metadata) {
  const std::string why = std::generic_category().message(error_number);
  metadata.emplace_back("error", why);
  return Error(reason, path,
               absl::StrCat(std::string(what), ": ", why, std::string(then)),
               std::move(metadata));
}

}  // namespace

std::string PathText(const std::string& path) {
  const bool printable =
      internal::IsUtf8(path) &&
      std::none_of(path.begin(), path.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      });
  return printable ? path : absl::CHexEscape(path);
}

absl::Status FileError(const std::string& path, std::string_view what,
                       ErrorMetadata metadata) {
  return Error(Reason::kInvalidFile, path, what, std::move(metadata));
}

absl::Status FileErrno(const std::string& path, std::string_view what,
                       int error_number) {
  return ErrnoError(Reason::kInvalidFile, path, what, error_number, "", {});
}

absl::Status WriteErrno(const std::string& path, std::string_view what,
                        int error_number, std::string_view then,
                        ErrorMetadata metadata) {
  return ErrnoError(Reason::kFileNotWritten, path, what, error_number, then,
                    std::move(metadata));
}

}  // namespace lossscaler::ctl
