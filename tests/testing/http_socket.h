// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// HttpSocket: a TCP connection on which a test sends what it likes.
//
// Thread safety: one thread at a time.

#ifndef LOSSSCALER_TESTS_TESTING_HTTP_SOCKET_H_
#define LOSSSCALER_TESTS_TESTING_HTTP_SOCKET_H_

#include <string>
#include <string_view>

namespace lossscaler::testing {

class HttpSocket {
 public:
  // `address` is 127.0.0.1:PORT. Aborts if nobody listens there.
  explicit HttpSocket(std::string_view address);
  ~HttpSocket();
  HttpSocket(HttpSocket&& other) noexcept;
  HttpSocket(const HttpSocket&) = delete;
  HttpSocket& operator=(const HttpSocket&) = delete;

  // False if the server has gone.
  bool Send(std::string_view bytes);

  // What the server sends until it closes the connection.
  std::string ReadAll();
  // Whether that ended with an error instead.
  bool was_reset() const { return was_reset_; }

 private:
  int socket_;
  bool was_reset_ = false;
};

// The answer to a GET of a page.
std::string HttpGet(std::string_view address, std::string_view path);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_HTTP_SOCKET_H_
