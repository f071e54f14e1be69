// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// AdminPages: what the admin port answers, as HTTP without a network.
//
//   /healthz   200 as long as there is an answer at all
//   /readyz    200, or 503 and why not
//   /metrics   the text that Prometheus reads
//   /          these lines
//
// GET and HEAD only. Pages are neither compressed nor sent in parts: what a
// request costs does not depend on its headers.
//
// Thread safety: one thread at a time.

#ifndef LOSSSCALER_SERVER_OPS_ADMIN_PAGES_H_
#define LOSSSCALER_SERVER_OPS_ADMIN_PAGES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace lossscaler::server {

// Request line and headers, with the empty line at their end.
inline constexpr std::size_t kMaxRequestHeadBytes = 8'192;

class AdminPages {
 public:
  struct Sources {
    // OK, or why the server should get no calls now.
    std::function<absl::Status()> ready;
    std::function<std::string()> metrics;
  };

  explicit AdminPages(Sources sources);
  ~AdminPages();
  AdminPages(const AdminPages&) = delete;
  AdminPages& operator=(const AdminPages&) = delete;

  // The whole answer to a request of which only the head is looked at. It says
  // that the connection will be closed.
  std::string Answer(std::string_view head);

  // To one whose head is longer than kMaxRequestHeadBytes.
  static std::string AnswerToLongHead();

 private:
  class Http;
  const std::unique_ptr<Http> http_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_ADMIN_PAGES_H_
