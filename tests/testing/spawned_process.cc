// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/spawned_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "testing/poll_until.h"
#include "testing/read_file.h"

namespace lossscaler::testing {
namespace {

std::string NewFile(const std::string& directory, std::string_view name) {
  std::string path = directory + "/" + std::string(name) + ".XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) std::abort();
  close(fd);
  return path;
}

std::vector<char*> Pointers(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

SpawnedProcess::SpawnedProcess(const std::string& binary,
                               const std::string& directory,
                               std::vector<std::string> arguments,
                               const std::vector<std::string>& environment)
    : out_path_(NewFile(directory, "out")),
      err_path_(NewFile(directory, "err")) {
  arguments.insert(arguments.begin(), binary);
  std::vector<std::string> variables = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LOSSSCALERD_")) {
      variables.emplace_back(*entry);
    }
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_path_.c_str(),
                                   O_WRONLY | O_APPEND, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_path_.c_str(),
                                   O_WRONLY | O_APPEND, 0);
  const int error =
      posix_spawn(&pid_, binary.c_str(), &files, nullptr,
                  Pointers(&arguments).data(), Pointers(&variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) std::abort();
}

SpawnedProcess::~SpawnedProcess() {
  if (exit_.has_value()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void SpawnedProcess::Signal(int signal) {
  if (HasEnded()) return;
  if (signal == SIGCONT) stopped_ = false;
  kill(pid_, signal);
}

bool SpawnedProcess::WaitUntilStopped() {
  PollUntil(std::chrono::seconds(30),
            [this] { return HasEnded() || stopped_; });
  return stopped_ && !exit_.has_value();
}

std::optional<SpawnedProcess::Exit> SpawnedProcess::Wait() {
  PollUntil(std::chrono::seconds(60), [this] { return HasEnded(); });
  return exit_;
}

std::string SpawnedProcess::Out() const { return ReadFile(out_path_); }
std::string SpawnedProcess::Err() const { return ReadFile(err_path_); }

bool SpawnedProcess::HasEnded() {
  int status = 0;
  while (!exit_.has_value() &&
         waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (WIFSTOPPED(status)) {
      stopped_ = true;
    } else {
      exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
  return exit_.has_value();
}

}  // namespace lossscaler::testing
