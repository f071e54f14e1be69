// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// AdminConnection: one connection to the admin port: one request, one answer,
// and the end, without ever blocking.
//
// Thread safety: one thread at a time.

#ifndef LOSSSCALER_SERVER_OPS_ADMIN_CONNECTION_H_
#define LOSSSCALER_SERVER_OPS_ADMIN_CONNECTION_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "ops/admin_pages.h"

namespace lossscaler::server {

class AdminConnection {
 public:
  // Owns `socket`, which does not block.
  AdminConnection(int socket, absl::Time deadline)
      : socket_(socket), deadline_(deadline) {}
  // Closes it.
  ~AdminConnection();
  AdminConnection(const AdminConnection&) = delete;
  AdminConnection& operator=(const AdminConnection&) = delete;

  int socket() const { return socket_; }
  // When it is to be destroyed whatever it does.
  absl::Time deadline() const { return deadline_; }

  // Goes on as far as the socket lets it. False: it is over.
  bool Proceed(AdminPages* pages);

 private:
  // What a step came to.
  enum class Progress { kDone, kBlocked, kOver };

  Progress Read();
  Progress Write();
  // Reads what the peer still sends: closing before that would reset the
  // connection, and the peer might not see the answer.
  Progress Linger();

  enum class Phase { kReading, kWriting, kLingering };

  const int socket_;
  const absl::Time deadline_;
  Phase phase_ = Phase::kReading;
  std::string head_;
  std::string answer_;
  std::size_t written_ = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_ADMIN_CONNECTION_H_
