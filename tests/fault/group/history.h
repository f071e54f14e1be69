// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// History: what one process of a job saw and did, in order, as lines of a file.
//
// A line is written by one write(), so that a killed process leaves whole lines
// but for the last.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_HISTORY_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_HISTORY_H_

#include <string>
#include <string_view>
#include <vector>

#include "fault/group/observation.pb.h"

namespace lossscaler::testing {

struct History {
  // The file.
  std::string name;
  std::vector<Observation> observations;
};

// Appends observations to a file.
//
// Thread safety: one thread.
class HistoryWriter {
 public:
  explicit HistoryWriter(const std::string& path);
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  void Write(const Observation& observation);

 private:
  int fd_ = -1;
};

// The whole lines of a file that may still be growing, or that a killed process
// has left. Aborts at a whole line that is none.
History ReadHistory(const std::string& path);

// All that match `directory`/*.history, by name.
std::vector<History> ReadHistories(const std::string& directory);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_HISTORY_H_
