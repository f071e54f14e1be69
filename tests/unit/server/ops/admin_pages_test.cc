// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/admin_pages.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AdminPagesTest : public ::testing::Test {
 protected:
  std::string Get(std::string_view path) { return Ask("GET", path, ""); }

  std::string Ask(std::string_view method, std::string_view path,
                  std::string_view headers) {
    return pages_.Answer(
        absl::StrCat(std::string(method), " ", std::string(path),
                     " HTTP/1.1\r\nHost: a\r\n", std::string(headers), "\r\n"));
  }

  absl::Status ready_;
  std::string metrics_ = "a_total 1\n";
  AdminPages pages_{{.ready = [this] { return ready_; },
                     .metrics = [this] { return metrics_; }}};
};

TEST_F(AdminPagesTest, HealthIsOkAsLongAsThereIsAnAnswer) {
  ready_ = absl::UnavailableError("the store fails");
  EXPECT_THAT(Get("/healthz"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                                     EndsWith("\r\n\r\nok\n")));
}

TEST_F(AdminPagesTest, ReadinessSaysWhyNot) {
  EXPECT_THAT(Get("/readyz"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                                    EndsWith("\r\n\r\nready\n")));
  ready_ = absl::UnavailableError("the store fails: disk full");
  EXPECT_THAT(Get("/readyz"),
              AllOf(StartsWith("HTTP/1.1 503 Service Unavailable\r\n"),
                    EndsWith("\r\n\r\nthe store fails: disk full\n")));
}

TEST_F(AdminPagesTest, MetricsHaveTheTypeThatPrometheusExpects) {
  EXPECT_THAT(Get("/metrics"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Type: text/plain; version=0.0.4"),
                    HasSubstr("Content-Length: 10\r\n"),
                    EndsWith("\r\n\r\na_total 1\n")));
  EXPECT_THAT(Get("/metrics?name[]=a_total"), EndsWith("a_total 1\n"));
}

TEST_F(AdminPagesTest, TheTopListsWhatThereIs) {
  EXPECT_THAT(Get("/"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("/healthz"),
                    HasSubstr("/readyz"), HasSubstr("/metrics")));
}

TEST_F(AdminPagesTest, EveryAnswerEndsTheConnection) {
  for (const char* const path : {"/", "/healthz", "/nowhere"}) {
    EXPECT_THAT(Ask("GET", path, "Connection: keep-alive\r\n"),
                HasSubstr("Connection: close\r\n"))
        << path;
  }
  EXPECT_THAT(pages_.Answer("garbage\r\n\r\n"),
              HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(AdminPages::AnswerToLongHead(),
              HasSubstr("Connection: close\r\n"));
}

TEST_F(AdminPagesTest, HeadHasTheHeadersOfTheAnswerAlone) {
  EXPECT_THAT(Ask("HEAD", "/metrics", ""),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Length: 10\r\n"), EndsWith("\r\n\r\n"),
                    Not(HasSubstr("a_total"))));
}

TEST_F(AdminPagesTest, OtherPagesAreNotFound) {
  for (const char* const path :
       {"/metrics/", "//metrics", "/healthz2", "/etc/passwd", "/../metrics",
        "/%00", "/METRICS"}) {
    EXPECT_THAT(Get(path), AllOf(StartsWith("HTTP/1.1 404 Not Found\r\n"),
                                 EndsWith("GET / says what there is.\n")))
        << path;
  }
}

TEST_F(AdminPagesTest, OtherMethodsAreNotAllowedAndNoBodyIsReadForThem) {
  for (const char* const method :
       {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"}) {
    EXPECT_THAT(
        Ask(method, "/metrics", "Content-Length: 1000000000\r\n"),
        AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"),
              HasSubstr("Allow: GET, HEAD\r\n"), Not(HasSubstr("a_total"))))
        << method;
  }
}

TEST_F(AdminPagesTest, WhatIsNoRequestIsRefused) {
  for (const std::string_view head :
       {std::string_view("\r\n\r\n"), std::string_view("GET\r\n\r\n"),
        std::string_view("GET / HTTP/3.0\r\n\r\n"),
        std::string_view("PRI * HTTP/2.0\r\n\r\n"),
        std::string_view("BREW /metrics HTTP/1.1\r\n\r\n"),
        std::string_view("GET /metrics HTTP/1.1 now\r\n\r\n"),
        std::string_view("GET /metrics?a?b HTTP/1.1\r\n\r\n"),
        std::string_view("\x16\x03\x01\x00\xff\r\n\r\n", 9)}) {
    EXPECT_THAT(pages_.Answer(head),
                AllOf(StartsWith("HTTP/1.1 400 Bad Request\r\n"),
                      HasSubstr("Content-Type: text/plain")))
        << head;
  }
}

TEST_F(AdminPagesTest, NoHeaderMakesAnAnswerLargerOrPartial) {
  metrics_.assign(100'000, 'x');
  // Many times the whole of it.
  std::string ranges = "Range: bytes=0-";
  while (ranges.size() < 7'000) ranges += ",0-";
  EXPECT_THAT(Ask("GET", "/metrics", absl::StrCat(ranges, "\r\n")).size(),
              ::testing::Lt(101'000u));
  EXPECT_THAT(Ask("GET", "/metrics", "Range: bytes=0-1\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Length: 100000\r\n")));
  EXPECT_THAT(Ask("GET", "/metrics", "Accept-Encoding: br, gzip\r\n"),
              AllOf(Not(HasSubstr("Content-Encoding")), EndsWith("xxx")));
  EXPECT_THAT(Ask("GET", "/healthz", "Expect: 100-continue\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

// As long as a head may be. With the library's own reading of ranges it took
// megabytes of stack.
TEST_F(AdminPagesTest, ALongHeaderIsNotLookedAt) {
  EXPECT_THAT(
      Ask("GET", "/healthz",
          absl::StrCat("Range: bytes=", std::string(8'000, '1'), "-\r\n")),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nok\n")));
}

TEST_F(AdminPagesTest, NoAnswerRepeatsWhatWasSent) {
  EXPECT_THAT(Ask("GET", "/<script>", "X-A: <script>\r\n"),
              Not(HasSubstr("script")));
}

}  // namespace
}  // namespace lossscaler::server
