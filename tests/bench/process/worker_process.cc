// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/process/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {
namespace {

bool WriteAll(int fd, const void* bytes, std::size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = write(fd, next, size);
    if (sent < 0 && errno != EINTR) return false;
    if (sent <= 0) continue;
    next += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool ReadAll(int fd, void* bytes, std::size_t size) {
  char* next = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = read(fd, next, size);
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    if (got < 0) continue;
    next += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool WriteAnswer(const std::vector<std::int64_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return WriteAll(STDOUT_FILENO, &count, sizeof(count)) &&
         WriteAll(STDOUT_FILENO, values.data(),
                  values.size() * sizeof(std::int64_t));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    std::vector<std::string> command) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return absl::InternalError("no pipe is left");
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return absl::InternalError("no pipe is left");
  }
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, words[0], &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(in[0]);
  close(out[1]);
  if (error != 0) {
    close(in[1]);
    close(out[0]);
    return absl::InternalError(absl::StrCat("cannot start ", command[0]));
  }
  return std::unique_ptr<WorkerProcess>(
      new WorkerProcess(command[0], pid, in[1], out[0]));
}

WorkerProcess::~WorkerProcess() {
  close(to_);
  close(from_);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::Status WorkerProcess::Tell(std::int64_t count) {
  if (WriteAll(to_, &count, sizeof(count))) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(name_, " has ended"));
}

absl::StatusOr<std::vector<std::int64_t>> WorkerProcess::Receive() {
  std::int64_t count = 0;
  if (!ReadAll(from_, &count, sizeof(count))) {
    return absl::InternalError(absl::StrCat(name_, " has ended"));
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  if (!ReadAll(from_, values.data(), values.size() * sizeof(std::int64_t))) {
    return absl::InternalError(absl::StrCat(name_, " has ended"));
  }
  return values;
}

absl::Status ServeRounds(
    const std::function<absl::StatusOr<std::vector<std::int64_t>>(
        std::int64_t count)>& measure) {
  if (!WriteAnswer({})) return absl::OkStatus();
  std::int64_t count = 0;
  while (ReadAll(STDIN_FILENO, &count, sizeof(count))) {
    const absl::StatusOr<std::vector<std::int64_t>> values = measure(count);
    if (!values.ok()) return values.status();
    if (!WriteAnswer(*values)) break;
  }
  return absl::OkStatus();
}

void DieWithDriver() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace lossscaler::bench
