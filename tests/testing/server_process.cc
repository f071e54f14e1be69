// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

namespace lossscaler::testing {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream),
          std::istreambuf_iterator<char>()};
}

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

// Asks again and again until the answer is yes; false after `limit`.
template <typename Condition>
bool Poll(std::chrono::seconds limit, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace

ServerProcess::ServerProcess(const std::string& binary,
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

ServerProcess::~ServerProcess() {
  if (exit_.has_value()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::vector<std::string> ServerProcess::WaitUntilReady(
    const std::string& ready_file) {
  std::string text;
  Poll(std::chrono::seconds(30), [&] {
    text = ReadFile(ready_file);
    return !text.empty() || HasEnded();
  });
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

void ServerProcess::Signal(int signal) {
  if (!exit_.has_value()) kill(pid_, signal);
}

std::optional<ServerProcess::Exit> ServerProcess::Wait() {
  Poll(std::chrono::seconds(60), [this] { return HasEnded(); });
  return exit_;
}

std::string ServerProcess::Out() const { return ReadFile(out_path_); }
std::string ServerProcess::Err() const { return ReadFile(err_path_); }

bool ServerProcess::HasEnded() {
  if (exit_.has_value()) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

}  // namespace lossscaler::testing
