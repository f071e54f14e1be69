// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Listener: the sockets that a server listens on, and the thread that takes
// connections from them.
//
// gRPC's own (1.51) stops listening for good when a connection comes and no
// file is left for it: one client with enough connections would keep everybody
// else out until the server is started again. This one keeps files for the
// store and everything else, ends connections beyond them at once, logs that
// (connections_refused), and goes on.
//
// Thread safety: one thread, but where it says otherwise.

#ifndef LOSSSCALER_SERVER_OPS_LISTENER_H_
#define LOSSSCALER_SERVER_OPS_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/address.h"

namespace lossscaler::server {

class Listener {
 public:
  // Owns `connection`, which came to the socket `listening`, from now on.
  // Called on the listener's thread.
  using Take = std::function<void(int listening, int connection)>;

  // Leaves `spare_files` of those that the process may have open, at most half
  // of them, to others than connections.
  explicit Listener(int spare_files = 128);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds `address`; clients may connect, and wait until Start(). Returns the
  // port, 0 of a unix socket. An error is the operating system's reason. A unix
  // socket must not be there.
  absl::StatusOr<int> Listen(const ListenAddress& address, Take take);

  // Takes connections from now on. Call once, after the last Listen().
  void Start();

  // Closes the sockets. Connections that were taken stay.
  void Stop();

  // Connections that were ended at once. Any thread.
  std::int64_t refused() const { return refused_; }

 private:
  struct Socket {
    int fd;
    Take take;
  };

  void Run();
  // Takes the connections that wait; false if the machine has no room for one.
  bool Accept(const Socket& socket);

  // The least file that a connection does not get.
  const int end_;
  // Ends the thread.
  const int wake_;
  std::atomic<std::int64_t> refused_ = 0;
  std::vector<Socket> sockets_;
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_LISTENER_H_
