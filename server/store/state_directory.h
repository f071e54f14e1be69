// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// StateDirectory: the folder that holds a server's state, locked for life.
//
// Two servers on one state would both decide step N. The lock is an flock on
// DIR/lock: the kernel releases it however the holder ends, so a stale file
// never blocks a start. The file tells people who holds it.

#ifndef LOSSSCALER_SERVER_STORE_STATE_DIRECTORY_H_
#define LOSSSCALER_SERVER_STORE_STATE_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::server {

// Where state goes when nobody says where.
struct UserEnvironment {
  bool is_root = false;
  // $STATE_DIRECTORY, which systemd sets, perhaps to several joined by ':'.
  std::string state_directory;
  std::string xdg_state_home;
  std::string home;
};
UserEnvironment CurrentUserEnvironment();

// The first of $STATE_DIRECTORY; else /var/lib/lossscaler for root; else
// ${XDG_STATE_HOME:-~/.local/state}/lossscaler. A relative XDG_STATE_HOME is
// ignored, as its specification asks. INVALID_ARGUMENT if that leaves nothing.
absl::StatusOr<std::string> DefaultStateDirectory(
    const UserEnvironment& environment);

// Thread safety: immutable.
class StateDirectory {
 public:
  // Creates the folder and its parents if they are missing (mode 0700; what
  // exists already is left as it is) and locks it.
  //
  // FAILED_PRECONDITION names the holder (process id and start time) if another
  // server has the lock; other codes follow errno.
  static absl::StatusOr<std::unique_ptr<StateDirectory>> Acquire(
      const std::string& path);

  // Releases the lock. The file stays: removing it would race with the next
  // holder.
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  StateDirectory(std::string path, int lock_fd);

  const std::string path_;
  const int lock_fd_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_STATE_DIRECTORY_H_
