// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ctl/npy/file_descriptor.h"
#include "ctl/npy/file_error.h"

namespace lossscaler::ctl {
namespace {

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

mode_t Umask() {
  const mode_t mask = umask(077);
  umask(mask);
  return mask;
}

// A hidden name that a new file can have, whatever the length of `name`.
std::string TemporaryPattern(const std::string& place) {
  constexpr std::string_view kEnd = ".XXXXXX";
  return absl::StrCat(FolderOf(place), "/.",
                      NameOf(place).substr(0, NAME_MAX - 1 - kEnd.size()),
                      std::string(kEnd));
}

// What is at a path, links followed; nullopt: nothing.
absl::StatusOr<std::optional<struct stat>> LookAt(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return FileErrno(path, "cannot be looked at", errno);
    if (lstat(path.c_str(), &info) == 0) {
      return FileError(path, "is a link to nothing");
    }
    return std::nullopt;
  }
  if (!S_ISREG(info.st_mode)) {
    return FileError(path, S_ISDIR(info.st_mode)
                               ? "is a folder; a file would replace it"
                               : "is not a regular file; it is not replaced");
  }
  if (access(path.c_str(), W_OK) != 0) {
    return FileErrno(path, "may not be replaced", errno);
  }
  return info;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// `in_place` are the results that were moved before.
absl::Status CannotBeMoved(const std::string& path, int error_number,
                           const std::vector<std::string>& in_place) {
  const std::string list =
      absl::StrJoin(in_place, ", ", [](std::string* text, const auto& file) {
        text->append(PathText(file));
      });
  return WriteErrno(path, "cannot be put in its place", error_number,
                    list.empty()
                        ? "; no result was written"
                        : absl::StrCat("; these results were written: ", list),
                    {{"written", list}});
}

absl::Status SyncFolder(const std::string& path) {
  const FileDescriptor folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder may be one to write to and not to read.
  if (!folder.ok() && errno == EACCES) return absl::OkStatus();
  // Some file systems have folders that cannot be synced.
  if (!folder.ok() || (fsync(folder.get()) != 0 && errno != EINVAL)) {
    return WriteErrno(path, "has its new files, but not safely on disk", errno);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path,
                                              UnfinishedFiles* unfinished) {
  const std::string folder = FolderOf(path);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) {
    return FileErrno(folder, "is no folder for results", errno);
  }
  if (!S_ISDIR(info.st_mode)) return FileError(folder, "is not a folder");
  if (NameOf(path).empty()) {
    return FileError(path, "is a folder where a file belongs");
  }
  const auto old = LookAt(path);
  if (!old.ok()) return old.status();

  std::string place = path;
  if (*old) {
    char* const resolved = realpath(path.c_str(), nullptr);
    if (resolved == nullptr) return FileErrno(path, "cannot be found", errno);
    place = resolved;
    std::free(resolved);
  }
  Permissions permissions = {.mode = 0666 & ~Umask(), .owner = std::nullopt};
  if (*old) {
    permissions = {.mode = (*old)->st_mode & 0777,
                   .owner = {{(*old)->st_uid, (*old)->st_gid}}};
  }
  OutputFile file(path, place, permissions, unfinished);
  int error_number = 0;
  unfinished->Add([&file, &error_number]() -> std::string {
    std::string pattern = TemporaryPattern(file.place_);
    const FileDescriptor made(mkostemp(pattern.data(), O_CLOEXEC));
    error_number = errno;
    if (!made.ok()) return "";
    return file.temporary_ = pattern;
  });
  if (file.temporary_.empty()) {
    return FileErrno(FolderOf(place), "is not a folder one can write to",
                     error_number);
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::move(other.place_)),
      permissions_(std::move(other.permissions_)),
      unfinished_(other.unfinished_),
      temporary_(std::exchange(other.temporary_, "")) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unfinished_->Remove(temporary_);
}

absl::Status OutputFile::Write(std::string_view head, std::string_view body) {
  const FileDescriptor file(
      open(temporary_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.ok() || !WriteAll(file.get(), head) ||
      !WriteAll(file.get(), body)) {
    return WriteErrno(place_, "cannot be written", errno);
  }
  // Only root can give a file away; what others write becomes theirs.
  if (permissions_.owner && geteuid() == 0 &&
      fchown(file.get(), permissions_.owner->first,
             permissions_.owner->second) != 0) {
    return WriteErrno(place_, "cannot be given its owner", errno);
  }
  if (fchmod(file.get(), permissions_.mode) != 0) {
    return WriteErrno(place_, "cannot be given its permissions", errno);
  }
  if (fsync(file.get()) != 0) {
    return WriteErrno(place_, "cannot be written", errno);
  }
  return absl::OkStatus();
}

absl::Status OutputFile::MoveIntoPlace(std::span<OutputFile> files,
                                       UnfinishedFiles* unfinished) {
  absl::Status status;
  unfinished->Finish([&](std::set<std::string>& paths) {
    std::set<std::string> folders;
    std::vector<std::string> in_place;
    for (OutputFile& file : files) {
      if (rename(file.temporary_.c_str(), file.place_.c_str()) != 0) {
        status = CannotBeMoved(file.path_, errno, in_place);
        return in_place.empty() ? Results::kNone : Results::kSomeInPlace;
      }
      paths.erase(file.temporary_);
      file.temporary_.clear();
      folders.insert(FolderOf(file.place_));
      in_place.push_back(file.path_);
    }
    for (const std::string& folder : folders) {
      status.Update(SyncFolder(folder));
    }
    return Results::kInPlace;
  });
  return status;
}

absl::StatusOr<std::vector<std::string>> OutputPaths(
    const std::vector<std::string>& inputs, const std::string& output) {
  if (!IsFolder(output)) {
    if (inputs.size() == 1) return std::vector<std::string>{output};
    return FileError(
        output, absl::StrCat("is not a folder; the results of ", inputs.size(),
                             " files need one that exists"));
  }
  std::set<std::string> names;
  std::vector<std::string> paths;
  for (const std::string& input : inputs) {
    const std::string name = NameOf(input);
    if (name.empty()) {
      return FileError(input, "is a folder; a .npy file belongs here");
    }
    if (!names.insert(name).second) {
      return FileError(
          input, absl::StrCat("would be written to ",
                              PathText(absl::StrCat(output, "/", name)),
                              ", as another file of this call; unscale them "
                              "into two folders"));
    }
    paths.push_back(
        absl::StrCat(output, output.ends_with('/') ? "" : "/", name));
  }
  return paths;
}

}  // namespace lossscaler::ctl
