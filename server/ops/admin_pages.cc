// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/admin_pages.h"

#include <sys/types.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "httplib.h"

namespace lossscaler::server {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";

constexpr char kContents[] =
    "lossscalerd\n"
    "/healthz  whether the process works\n"
    "/readyz   whether it takes calls, and why not\n"
    "/metrics  for Prometheus\n";

// A connection that is not one: reads the request, keeps the answer.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}

  std::string TakeOutput() { return std::move(output_); }

  bool is_readable() const override { return !input_.empty(); }
  bool is_writable() const override { return true; }

  ssize_t read(char* to, std::size_t size) override {
    const std::size_t count = std::min(size, input_.size());
    std::copy_n(input_.data(), count, to);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    output_.append(from, size);
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& /*ip*/,
                              int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/,
                             int& /*port*/) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view input_;
  std::string output_;
};

}  // namespace

// The part of the library's server that reads requests and writes answers.
class AdminPages::Http final : public httplib::Server {
 public:
  explicit Http(Sources sources) : sources_(std::move(sources)) {
    // Before the library would read a body.
    set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          Route(request, &response);
          return HandlerResponse::Handled;
        });
    set_error_handler(httplib::Server::Handler(
        [](const httplib::Request&, httplib::Response& response) {
          if (!response.body.empty()) return;
          response.set_content(
              "This is not an HTTP/1.1 request; GET / says "
              "what there is.\n",
              kPlainText);
        }));
    set_post_routing_handler(
        [](const httplib::Request&, httplib::Response& response) {
          response.headers.erase("Accept-Ranges");
        });
  }

  std::string Answer(std::string_view head) {
    // No header says anything that matters here, and the library gives those
    // that it knows to regular expressions, whose recursion a long one sends
    // through the stack.
    const std::string request =
        absl::StrCat(std::string(head.substr(0, head.find('\n'))), "\n\r\n");
    MemoryStream stream(request);
    bool closed = true;
    process_request(stream, /*close_connection=*/true, closed,
                    [](httplib::Request&) {});
    return stream.TakeOutput();
  }

 private:
  void Route(const httplib::Request& request, httplib::Response* response) {
    response->status = 200;
    if (request.path != "/" && request.path != "/healthz" &&
        request.path != "/readyz" && request.path != "/metrics") {
      response->status = 404;
      response->set_content(
          "There is no such page; GET / says what there is.\n", kPlainText);
    } else if (request.method != "GET" && request.method != "HEAD") {
      response->status = 405;
      response->set_header("Allow", "GET, HEAD");
      response->set_content("Only GET and HEAD are answered.\n", kPlainText);
    } else if (request.path == "/metrics") {
      response->set_content(sources_.metrics(), kPrometheusText);
    } else if (request.path == "/readyz") {
      const absl::Status ready = sources_.ready();
      if (!ready.ok()) response->status = 503;
      response->set_content(
          ready.ok() ? "ready\n" : absl::StrCat(ready.message(), "\n"),
          kPlainText);
    } else {
      response->set_content(request.path == "/" ? kContents : "ok\n",
                            kPlainText);
    }
  }

  const Sources sources_;
};

AdminPages::AdminPages(Sources sources)
    : http_(std::make_unique<Http>(std::move(sources))) {}

AdminPages::~AdminPages() = default;

std::string AdminPages::Answer(std::string_view head) {
  return http_->Answer(head);
}

std::string AdminPages::AnswerToLongHead() {
  const std::string text =
      absl::StrCat("The head of the request is longer than ",
                   kMaxRequestHeadBytes, " bytes.\n");
  return absl::StrCat(
      "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
      "Content-Type: ",
      kPlainText, "\r\nContent-Length: ", text.size(), "\r\n\r\n", text);
}

}  // namespace lossscaler::server
