// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/server_process.h"

#include <chrono>
#include <utility>

#include "testing/poll_until.h"
#include "testing/read_file.h"

namespace lossscaler::testing {
namespace {

std::vector<std::string> WithAnyAdminPort(
    std::vector<std::string> environment) {
  // What comes first counts.
  environment.emplace_back("LOSSSCALERD_ADMIN_LISTEN=127.0.0.1:0");
  return environment;
}

}  // namespace

ServerProcess::ServerProcess(const std::string& binary,
                             const std::string& directory,
                             std::vector<std::string> arguments,
                             std::vector<std::string> environment)
    : SpawnedProcess(binary, directory, std::move(arguments),
                     WithAnyAdminPort(std::move(environment))) {}

std::vector<std::string> ServerProcess::WaitUntilReady(
    const std::string& ready_file) {
  std::string text;
  PollUntil(std::chrono::seconds(30), [&] {
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

}  // namespace lossscaler::testing
