// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ListenAddress: where a server listens, as people write it.
//
//   127.0.0.1:50551   [::1]:50551   localhost:50551   unix:/run/x.sock
//
// A TCP host is the address of an interface, not a name: gRPC is content when
// one of the addresses of a name can be bound, so that two servers could share
// a name and port. "localhost" means 127.0.0.1.
//
// Thread safety: immutable.

#ifndef LOSSSCALER_SERVER_OPS_ADDRESS_H_
#define LOSSSCALER_SERVER_OPS_ADDRESS_H_

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lossscaler::server {

class ListenAddress {
 public:
  // INVALID_ARGUMENT with a message that says what is allowed.
  static absl::StatusOr<ListenAddress> Parse(std::string_view text);

  bool is_unix() const { return !path_.empty(); }
  // The file of a unix socket; empty for TCP.
  const std::string& path() const { return path_; }
  // The port of a TCP address, 0: any free one.
  int port() const { return port_; }
  // Only processes of this machine reach it.
  bool is_local() const { return local_; }

  // As gRPC and clients want it; with another port for TCP.
  std::string ToString() const { return WithPort(port_); }
  std::string WithPort(int port) const;

  // The address as the operating system wants it; returns its size.
  socklen_t ToSocketAddress(sockaddr_storage* storage) const;

 private:
  ListenAddress() = default;

  std::string path_;
  std::string host_;  // Without brackets.
  bool is_v6_ = false;
  bool local_ = false;
  int port_ = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_ADDRESS_H_
