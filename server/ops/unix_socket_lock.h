// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnixSocketLock: one server per unix socket.
//
// A socket does not say whether its server still lives, and who removes that of
// a living one silently takes its callers away. So each server holds an flock
// on PATH.lock, which the kernel releases however the holder ends, and replaces
// a socket only while it holds that lock.
//
// The lock file is removed at the end although others may have it open: a lock
// counts only if the file at the path is still the locked one, and who finds
// it is not begins again.
//
// Thread safety: immutable.

#ifndef LOSSSCALER_SERVER_OPS_UNIX_SOCKET_LOCK_H_
#define LOSSSCALER_SERVER_OPS_UNIX_SOCKET_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::server {

class UnixSocketLock {
 public:
  // Takes the lock and removes a socket that a killed server left. Errors end
  // the process with ExitCode::kBind: the lock is held (the message names the
  // holder), there is something at the path that is not a socket, or at the
  // lock's that is not a lock (both are left alone), or the folder does not
  // allow it.
  static absl::StatusOr<std::unique_ptr<UnixSocketLock>> Acquire(
      const std::string& socket_path);

  // Removes socket and lock.
  ~UnixSocketLock();
  UnixSocketLock(const UnixSocketLock&) = delete;
  UnixSocketLock& operator=(const UnixSocketLock&) = delete;

  // Owner and group may connect, others may not, whatever the umask. Once the
  // socket is bound.
  absl::Status RestrictMode() const;

 private:
  UnixSocketLock(std::string socket_path, std::string lock_path, int fd);

  const std::string socket_path_;
  const std::string lock_path_;
  const int fd_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_UNIX_SOCKET_LOCK_H_
