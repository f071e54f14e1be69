// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/unfinished_files.h"

#include <unistd.h>

#include <utility>

namespace lossscaler::ctl {

void UnfinishedFiles::Add(const std::function<std::string()>& create) {
  MutexLock lock(&mutex_);
  std::string path = create();
  if (!path.empty()) paths_.insert(std::move(path));
}

void UnfinishedFiles::Remove(const std::string& path) {
  MutexLock lock(&mutex_);
  if (paths_.erase(path) > 0) unlink(path.c_str());
}

void UnfinishedFiles::Finish(
    const std::function<Results(std::set<std::string>& paths)>& finish) {
  MutexLock lock(&mutex_);
  finished_ = finish(paths_);
}

// The lock is kept for the little time that is left.
Results UnfinishedFiles::RemoveAll() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  mutex_.Lock();
  for (const std::string& path : paths_) unlink(path.c_str());
  if (finished_ != Results::kNone) return finished_;
  return paths_.empty() ? Results::kNone : Results::kThrownAway;
}

}  // namespace lossscaler::ctl
