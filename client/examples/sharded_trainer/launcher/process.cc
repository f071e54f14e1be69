// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/launcher/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::sharded {

absl::StatusOr<Process> Process::Start(const std::vector<std::string>& command,
                                       const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int nothing = open("/dev/null", O_RDONLY);
  const pid_t launcher = getpid();
  const pid_t pid = file < 0 || nothing < 0 ? -1 : fork();
  if (pid == 0) {
    // Only calls that are safe between fork and exec.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(127);
    dup2(nothing, STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  const std::string error = std::strerror(errno);
  if (file >= 0) close(file);
  if (nothing >= 0) close(nothing);
  if (pid > 0) return Process(pid);
  return absl::UnavailableError(
      absl::StrCat("cannot start ", command[0], ": ", error));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), exit_code_(other.exit_code_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  return *this;
}

Process::~Process() {
  if (pid_ == 0) return;
  Signal(SIGKILL);
  Wait();
}

Process::State Process::Poll() {
  if (pid_ == 0) return State::kEnded;
  int status = 0;
  const pid_t changed = waitpid(pid_, &status, WNOHANG | WUNTRACED);
  return changed == pid_ ? Take(status) : State::kRunning;
}

void Process::Wait() {
  int status = 0;
  while (pid_ != 0 && waitpid(pid_, &status, 0) == pid_) Take(status);
}

Process::State Process::Take(int status) {
  if (WIFSTOPPED(status)) return State::kStopped;
  exit_code_ =
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = 0;
  return State::kEnded;
}

void Process::Signal(int signal) const {
  if (pid_ != 0) kill(pid_, signal);
}

}  // namespace lossscaler::sharded
