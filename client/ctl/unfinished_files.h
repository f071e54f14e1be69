// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnfinishedFiles: the temporary files of this process, so that whoever ends it
// early (Ctrl-C) can take them away first.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CTL_UNFINISHED_FILES_H_
#define LOSSSCALER_CTL_UNFINISHED_FILES_H_

#include <functional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::ctl {

// What is known of the results when the process ends early.
enum class Results { kNone, kThrownAway, kSomeInPlace, kInPlace };

class UnfinishedFiles {
 public:
  // Runs `create`, which makes a file and returns its path, or nothing if it
  // could not. No file is made that RemoveAll() does not know of.
  void Add(const std::function<std::string()>& create);
  // Removes the file at `path` and forgets it; nothing if it is not ours.
  void Remove(const std::string& path);
  // Runs `finish`, which moves files to their places, erases them from `paths`
  // and returns whether all, some or none (kNone) are there. RemoveAll() waits
  // for it.
  void Finish(
      const std::function<Results(std::set<std::string>& paths)>& finish);
  // Removes every file that is left. Nothing is added or finished afterwards:
  // those calls block for ever, since the process is about to end.
  Results RemoveAll();

 private:
  Mutex mutex_;
  std::set<std::string> paths_ ABSL_GUARDED_BY(mutex_);
  Results finished_ ABSL_GUARDED_BY(mutex_) = Results::kNone;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_UNFINISHED_FILES_H_
