// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Runs code in a forked child, for what needs a process of its own: another
// user, a lock of somebody else, a kill.
//
// Fork before starting threads. The child must not use gtest's assertions: it
// tells the parent through its pipe.

#ifndef LOSSSCALER_TESTS_TESTING_CHILD_PROCESS_H_
#define LOSSSCALER_TESTS_TESTING_CHILD_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace lossscaler::testing {

class ChildProcess {
 public:
  // `run` gets the descriptor of the pipe to the parent; the child ends without
  // any destructor when it returns.
  template <typename Run>
  explicit ChildProcess(Run run) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      close(ends[0]);
      run(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }

  ~ChildProcess() {
    Kill();
    close(pipe_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Reads at most `size` bytes; 0 when the child has closed its end.
  std::size_t Read(char* buffer, std::size_t size) {
    for (;;) {
      const ssize_t got = read(pipe_, buffer, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) std::abort();
    }
  }

  // Everything the child writes until it closes its end.
  std::string ReadAll() {
    std::string text;
    char buffer[4096];
    for (std::size_t got = Read(buffer, sizeof(buffer)); got > 0;
         got = Read(buffer, sizeof(buffer))) {
      text.append(buffer, got);
    }
    return text;
  }

  // SIGKILL, and waits until it is gone. Harmless when it is already.
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }

  // For the child: writes all of `bytes` to the parent.
  static void Tell(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = write(fd, bytes.data(), bytes.size());
      if (sent < 0 && errno != EINTR) _exit(1);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

 private:
  pid_t pid_ = 0;
  int pipe_ = -1;
};

// The text that `run` returns in a child.
template <typename Run>
std::string InChild(Run run) {
  return ChildProcess([&run](int fd) { ChildProcess::Tell(fd, run()); })
      .ReadAll();
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_CHILD_PROCESS_H_
