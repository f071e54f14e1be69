// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/group/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "google/protobuf/util/json_util.h"
#include "testing/read_file.h"

namespace lossscaler::testing {

HistoryWriter::HistoryWriter(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  if (fd_ < 0) std::abort();
}

HistoryWriter::~HistoryWriter() { close(fd_); }

void HistoryWriter::Write(const Observation& observation) {
  std::string line;
  if (!google::protobuf::util::MessageToJsonString(observation, &line).ok()) {
    std::abort();
  }
  line += '\n';
  if (write(fd_, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    std::abort();
  }
}

History ReadHistory(const std::string& path) {
  History history{.name = std::filesystem::path(path).filename()};
  const std::string text = ReadFile(path);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    Observation observation;
    if (!google::protobuf::util::JsonStringToMessage(line, &observation).ok()) {
      std::cerr << path << ": no observation: " << line << "\n";
      std::abort();
    }
    history.observations.push_back(std::move(observation));
  }
  return history;
}

std::vector<History> ReadHistories(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".history") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<History> histories;
  histories.reserve(paths.size());
  for (const std::string& path : paths) histories.push_back(ReadHistory(path));
  return histories;
}

}  // namespace lossscaler::testing
