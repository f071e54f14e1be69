// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/admin_connection.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace lossscaler::server {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

AdminConnection::~AdminConnection() { close(socket_); }

bool AdminConnection::Proceed(AdminPages* pages) {
  while (true) {
    Progress progress = Progress::kOver;
    switch (phase_) {
      case Phase::kReading:
        progress = Read();
        if (progress == Progress::kDone) {
          answer_ = head_.ends_with(kEndOfHead)
                        ? pages->Answer(head_)
                        : AdminPages::AnswerToLongHead();
          phase_ = Phase::kWriting;
        }
        break;
      case Phase::kWriting:
        progress = Write();
        if (progress == Progress::kDone) {
          shutdown(socket_, SHUT_WR);
          phase_ = Phase::kLingering;
        }
        break;
      case Phase::kLingering:
        progress = Linger();
        break;
    }
    if (progress != Progress::kDone) return progress == Progress::kBlocked;
  }
}

AdminConnection::Progress AdminConnection::Read() {
  std::array<char, 2'048> buffer;
  while (true) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count == 0) return Progress::kOver;
    if (count < 0) {
      if (errno == EINTR) continue;
      return WouldBlock() ? Progress::kBlocked : Progress::kOver;
    }
    // The end may have come in two pieces.
    const std::size_t from =
        head_.size() - std::min(head_.size(), kEndOfHead.size() - 1);
    head_.append(buffer.data(), static_cast<std::size_t>(count));
    const std::size_t end = head_.find(kEndOfHead, from);
    if (end != std::string::npos &&
        end + kEndOfHead.size() <= kMaxRequestHeadBytes) {
      head_.resize(end + kEndOfHead.size());
      return Progress::kDone;
    }
    if (head_.size() > kMaxRequestHeadBytes) {
      head_.resize(kMaxRequestHeadBytes);
      return Progress::kDone;
    }
  }
}

AdminConnection::Progress AdminConnection::Write() {
  while (written_ < answer_.size()) {
    const ssize_t count = send(socket_, answer_.data() + written_,
                               answer_.size() - written_, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      return WouldBlock() ? Progress::kBlocked : Progress::kOver;
    }
    written_ += static_cast<std::size_t>(count);
  }
  return Progress::kDone;
}

AdminConnection::Progress AdminConnection::Linger() {
  std::array<char, 2'048> buffer;
  // Up to 1 MiB: a peer that never stops would keep us here for ever.
  for (int i = 0; i < 512; ++i) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count == 0) return Progress::kOver;
    if (count < 0 && errno != EINTR) {
      return WouldBlock() ? Progress::kBlocked : Progress::kOver;
    }
  }
  return Progress::kOver;
}

}  // namespace lossscaler::server
