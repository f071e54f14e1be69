// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/hostile_peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "testing/loopback.h"
#include "testing/poll_until.h"

namespace lossscaler::testing {
namespace {

// What a server lets a client send on its first stream (RFC 9113, 6.9).
class Windows {
 public:
  // Takes note of the frames that have come since the last time.
  void Follow(const std::string& heard) {
    constexpr std::size_t kHead = 9;
    while (heard.size() - read_ >= kHead) {
      const std::string_view head(heard.data() + read_, kHead);
      const auto length = static_cast<std::size_t>(Number(head.substr(0, 3)));
      if (heard.size() - read_ < kHead + length) return;
      Take(static_cast<http2::FrameType>(head[3]), head[4] == http2::kAck,
           Number(head.substr(5)),
           std::string_view(heard).substr(read_ + kHead, length));
      read_ += kHead + length;
    }
  }

  // The call or the connection has been ended.
  bool ended() const { return ended_; }
  std::int64_t size() const { return std::min(connection_, stream_); }
  // Whether there are settings that were not acknowledged: they hold from then
  // on.
  bool TakeSettings() { return std::exchange(settings_, 0) > 0; }
  void Spend(std::int64_t bytes) {
    connection_ -= bytes;
    stream_ -= bytes;
  }

 private:
  static constexpr std::int64_t kInitial = 65'535;
  static constexpr std::int64_t kInitialWindowSize = 4;

  static std::int64_t Number(std::string_view bytes) {
    std::int64_t number = 0;
    for (const char byte : bytes) {
      number = number << 8 | static_cast<std::uint8_t>(byte);
    }
    return number;
  }

  void Take(http2::FrameType type, bool ack, std::int64_t stream,
            std::string_view payload) {
    switch (type) {
      case http2::FrameType::kWindowUpdate:
        (stream == 0 ? connection_ : stream_) += Number(payload);
        break;
      case http2::FrameType::kSettings:
        for (; payload.size() >= 6; payload.remove_prefix(6)) {
          if (Number(payload.substr(0, 2)) == kInitialWindowSize) {
            stream_ += Number(payload.substr(2, 4)) - kInitial;
          }
        }
        settings_ += ack ? 0 : 1;
        break;
      case http2::FrameType::kHeaders:
      case http2::FrameType::kReset:
      case http2::FrameType::kGoAway:
        ended_ = true;
        break;
      default:
        break;
    }
  }

  std::size_t read_ = 0;
  int settings_ = 0;
  std::int64_t connection_ = kInitial;
  std::int64_t stream_ = kInitial;
  bool ended_ = false;
};

}  // namespace

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

std::int64_t HostilePeer::SendData(std::int64_t sent_before, std::int64_t bytes,
                                   std::chrono::seconds limit) {
  constexpr std::int64_t kFrame = 16'384;
  const std::string frame =
      http2::Frame(http2::FrameType::kData, 0, 1, std::string(kFrame, 'x'));
  Windows windows;
  windows.Spend(sent_before);
  bool open = true;
  std::int64_t sent = 0;
  for (; sent < bytes; sent += kFrame) {
    const bool ready = PollUntil(limit, [&] {
      open = Listen();
      windows.Follow(heard_);
      if (windows.TakeSettings()) {
        Send(http2::Frame(http2::FrameType::kSettings, http2::kAck, 0, ""));
      }
      return !open || windows.ended() || windows.size() >= kFrame;
    });
    if (!ready || !open || windows.ended() ||
        !SendAll(socket_, frame.data(), static_cast<ssize_t>(frame.size()))) {
      break;
    }
    windows.Spend(kFrame);
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
