// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// HostilePeer: somebody who has connected to a server, and sends whatever a
// test makes up. Http2: the pieces of what a client of the protocol would send.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_FAULT_HOSTILE_PEER_H_
#define LOSSSCALER_TESTS_FAULT_HOSTILE_PEER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lossscaler::testing {

class HostilePeer {
 public:
  // `address`: "127.0.0.1:PORT".
  explicit HostilePeer(const std::string& address);
  ~HostilePeer();
  HostilePeer(HostilePeer&& other) noexcept;
  HostilePeer& operator=(HostilePeer&&) = delete;

  // Sends what the server takes, and gives up where it takes no more.
  void Send(std::string_view bytes);

  // Sends up to `bytes` of stream 1, which has had `sent_before`, as fast as
  // the server's windows allow; returns how many there were when it had ended
  // the call or the connection, or had given no window for `limit`.
  std::int64_t SendData(std::int64_t sent_before, std::int64_t bytes,
                        std::chrono::seconds limit);

  // Reads what there is, without waiting. False once the server has ended the
  // connection.
  bool Listen();
  // Reads until the server ends the connection; false if that takes longer.
  bool AwaitEnd(std::chrono::seconds limit);
  // Reads until the server has said `bytes`; false if that takes longer, or it
  // ends the connection first.
  bool AwaitWord(std::string_view bytes, std::chrono::seconds limit);

 private:
  int socket_;
  std::string heard_;
};

namespace http2 {

// What a client sends first.
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndHeaders = 4;

// A frame; `announced` is the length that it claims to have.
std::string Frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload,
                  std::optional<std::uint32_t> announced = std::nullopt);

// Preface and settings: from here on the connection is as good as any.
std::string Greeting();

// One header, spelt out; both are shorter than 127 bytes.
std::string Header(std::string_view name, std::string_view value);

// The headers of a call of LossScalerService.
std::string CallHeaders(std::string_view method);

}  // namespace http2
}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_HOSTILE_PEER_H_
