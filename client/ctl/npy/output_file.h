// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// OutputFile: a file that appears whole or not at all.
//
// It is written under another name in the folder of its place, and moved there
// when it is complete. Destroyed before that, it leaves nothing behind.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_CTL_NPY_OUTPUT_FILE_H_
#define LOSSSCALER_CTL_NPY_OUTPUT_FILE_H_

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ctl/unfinished_files.h"

namespace lossscaler::ctl {

class OutputFile {
 public:
  // Makes the temporary file. `path` is where the file will be; a symbolic link
  // there is followed. An error if its folder is missing or not writable, or
  // something other than a writable regular file is there.
  static absl::StatusOr<OutputFile> Create(const std::string& path,
                                           UnfinishedFiles* unfinished);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Where it will be, as given.
  const std::string& path() const { return path_; }
  // The same with links resolved.
  const std::string& place() const { return place_; }

  // Writes `head` and then `body`, and waits until they are on disk.
  absl::Status Write(std::string_view head, std::string_view body);

  // Moves all files to their places, and waits until their folders are on disk.
  // After an error some may be there; the message, and metadata
  // "written", says which.
  static absl::Status MoveIntoPlace(std::span<OutputFile> files,
                                    UnfinishedFiles* unfinished);

 private:
  // Of an ordinary new file, or those of the file that is replaced.
  struct Permissions {
    mode_t mode = 0;
    std::optional<std::pair<uid_t, gid_t>> owner;
  };

  OutputFile(std::string path, std::string place, Permissions permissions,
             UnfinishedFiles* unfinished)
      : path_(std::move(path)),
        place_(std::move(place)),
        permissions_(permissions),
        unfinished_(unfinished) {}

  std::string path_;
  std::string place_;
  Permissions permissions_;
  UnfinishedFiles* unfinished_;
  // Empty once the file is in its place. Closed except while it is written, so
  // that any number of files can be at hand.
  std::string temporary_;
};

// Where the results of `inputs` go: `output`, or below it if it is a folder. An
// error if there are several and it is no folder, or two have one base name.
absl::StatusOr<std::vector<std::string>> OutputPaths(
    const std::vector<std::string>& inputs, const std::string& output);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_OUTPUT_FILE_H_
