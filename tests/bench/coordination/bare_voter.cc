// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/coordination/bare_vote.h"
#include "bench/coordination/voter.h"

namespace lossscaler::bench {
namespace {

class BareVoter : public Voter {
 public:
  explicit BareVoter(int socket) : socket_(socket) {}
  ~BareVoter() override { close(socket_); }

  absl::Status Vote() override {
    const BareVote vote{.step = ++step_, .scale = 65536, .overflow = 0};
    if (send(socket_, &vote, sizeof(vote), MSG_NOSIGNAL) != sizeof(vote)) {
      return absl::UnavailableError("the bare vote could not be sent");
    }
    BareVote decision;
    if (recv(socket_, &decision, sizeof(decision), MSG_WAITALL) !=
            sizeof(decision) ||
        decision.step != step_) {
      return absl::UnavailableError("the bare decision did not come");
    }
    return absl::OkStatus();
  }

 private:
  const int socket_;
  std::int64_t step_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Voter>> MakeBareVoter(
    const VoterOptions& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::atoi(options.address.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  auto voter = std::make_unique<BareVoter>(fd);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
      0) {
    return absl::UnavailableError("the bare server does not answer");
  }
  return voter;
}

}  // namespace lossscaler::bench
