// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/hostile_peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "testing/loopback.h"
#include "testing/poll_until.h"

namespace lossscaler::testing {

HostilePeer::HostilePeer(const std::string& address)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
  const sockaddr_in server = Loopback(port);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&server),
              sizeof(server)) != 0) {
    std::abort();
  }
}

HostilePeer::~HostilePeer() {
  if (socket_ >= 0) close(socket_);
}

HostilePeer::HostilePeer(HostilePeer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      heard_(std::move(other.heard_)) {}

void HostilePeer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::int64_t HostilePeer::SendData(std::int64_t bytes,
                                   std::chrono::seconds limit) {
  using http2::FrameType;
  // RFC 9113, 6.5.2 and 6.9; the server's settings may raise that of streams.
  constexpr std::int64_t kFirstWindow = 65'535;
  constexpr std::int64_t kFrame = 16'384;
  const std::string frame =
      http2::Frame(FrameType::kData, 0, 1, std::string(kFrame, 'x'));
  std::int64_t connection_window = kFirstWindow;
  std::int64_t stream_window = kFirstWindow;
  std::size_t read = 0;
  bool ended = false;
  const auto number = [this](std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value = value << 8 | static_cast<std::uint8_t>(heard_[at + i]);
    }
    return value;
  };
  const auto hear = [&] {
    ended = !Listen() || ended;
    while (heard_.size() - read >= 9 &&
           heard_.size() - read >= 9 + number(read, 3)) {
      const std::size_t payload = read + 9;
      const std::size_t length = number(read, 3);
      const std::uint32_t stream = number(read + 5, 4);
      switch (static_cast<FrameType>(heard_[read + 3])) {
        case FrameType::kWindowUpdate:
          (stream == 0 ? connection_window : stream_window) +=
              number(payload, 4);
          break;
        case FrameType::kSettings:
          for (std::size_t i = payload; i < payload + length; i += 6) {
            if (number(i, 2) == 4) {
              stream_window += number(i + 2, 4) - kFirstWindow;
            }
          }
          break;
        case FrameType::kHeaders:
        case FrameType::kReset:
        case FrameType::kGoAway:
          ended = true;
          break;
        default:
          break;
      }
      read = payload + length;
    }
  };
  std::int64_t sent = 0;
  while (sent < bytes) {
    const bool ready = PollUntil(limit, [&] {
      hear();
      return ended || (connection_window >= kFrame && stream_window >= kFrame);
    });
    if (ended || !ready ||
        !SendAll(socket_, frame.data(), static_cast<ssize_t>(frame.size()))) {
      break;
    }
    connection_window -= kFrame;
    stream_window -= kFrame;
    sent += kFrame;
  }
  return sent;
}

bool HostilePeer::Listen() {
  char bytes[4096];
  while (true) {
    const ssize_t got = recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got > 0) {
      heard_.append(bytes, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return got != 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }
  }
}

bool HostilePeer::AwaitEnd(std::chrono::seconds limit) {
  return PollUntil(limit, [this] { return !Listen(); });
}

bool HostilePeer::AwaitWord(std::string_view bytes,
                            std::chrono::seconds limit) {
  bool open = true;
  PollUntil(limit, [&] {
    open = Listen();
    return !open || heard_.find(bytes) != std::string::npos;
  });
  return heard_.find(bytes) != std::string::npos;
}

namespace http2 {

std::string Frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload,
                  std::optional<std::uint32_t> announced) {
  const auto length =
      announced.value_or(static_cast<std::uint32_t>(payload.size()));
  std::string frame;
  for (const int shift : {16, 8, 0}) {
    frame += static_cast<char>(length >> shift);
  }
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) {
    frame += static_cast<char>(stream >> shift);
  }
  return frame.append(payload);
}

std::string Greeting() {
  return std::string(kPreface) + Frame(FrameType::kSettings, 0, 0, "");
}

std::string Header(std::string_view name, std::string_view value) {
  // Literal, without indexing, with a new name (RFC 7541, 6.2.2).
  std::string header(1, '\0');
  for (const std::string_view text : {name, value}) {
    header += static_cast<char>(text.size());
    header.append(text);
  }
  return header;
}

std::string CallHeaders(std::string_view method) {
  return Header(":method", "POST") + Header(":scheme", "http") +
         Header(":path",
                "/lossscaler.v1.LossScalerService/" + std::string(method)) +
         Header(":authority", "localhost") + Header("te", "trailers") +
         Header("content-type", "application/grpc");
}

}  // namespace http2
}  // namespace lossscaler::testing
