// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The text as a whole: its form, its size, what stands in the table of
// server/README.md, and what it says of the server and the process.

#include <unistd.h>

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/error.h"
#include "metrics_fixture.h"
#include "ops/method.h"
#include "testing/prometheus_text.h"
#include "testing/read_file.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::PrometheusText;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Optional;
using ::testing::StartsWith;

class MetricsTextTest : public MetricsTest {
 protected:
  // Everything that can happen.
  void DoEverything() {
    sample_.certificate_expiry = MetricsStart();
    for (const Method method : kAllMethods) {
      for (int code = 0; code <= 16; ++code) {
        EndCall(method, absl::Status(static_cast<absl::StatusCode>(code), "x"),
                absl::Seconds(1));
      }
      for (const Reason reason : AllReasons()) {
        EndCall(method, MakeError(reason, "x"), absl::Seconds(1));
      }
      // No client can make more of it, whatever it is told.
      for (int i = 0; i < 100; ++i) {
        EndCall(method,
                MakeErrorFromParts(absl::StatusCode::kInternal, "x",
                                   absl::StrCat("R", i), {}, std::nullopt),
                absl::Seconds(1));
      }
    }
    const SessionState session = SoloSession("a", "1");
    for (int outcome = 0; outcome <= static_cast<int>(Outcome::kAborted);
         ++outcome) {
      for (int reason = 0;
           reason <= static_cast<int>(DecisionReason::kNewAttempt); ++reason) {
        Decision decision;
        decision.outcome = static_cast<Outcome>(outcome);
        decision.reason = static_cast<DecisionReason>(reason);
        Change(Cause::kVote, &session, &session, &decision);
      }
    }
  }
};

// Without those of decisions, calls and certificates.
constexpr int kOtherSeries =
    // build, start time, start count, limits, open calls, streams, bytes,
    // healthy, process
    1 + 1 + 1 + 5 + 1 + 1 + 1 + 1 + 4 +
    // watchers, refused connections, failed reloads
    1 + 1 + 2 +
    // floored, saturated, degraded, last decision, waiting
    1 + 1 + 1 + 1 + 1 +
    // sessions, workers, joined, left, expired, replaced
    2 + 2 + 1 + 1 + 1 + 1 +
    // unscaled bytes and elements, bad values, failed writes
    1 + 1 + 2 + 1 +
    // Histograms: buckets, the last one, sum and count, of waits and writes.
    20 + 3 + 19 + 3;

TEST_F(MetricsTextTest, ANewServerHasSeriesOnlyForWhatUsuallyHappens) {
  // OK, OTHER, and a histogram of 22 buckets for each method.
  EXPECT_THAT(Text().size(), Eq(kOtherSeries + 14 * (1 + 1 + 22 + 3) + 5));
}

TEST_F(MetricsTextTest, NoClientCanMakeItLonger) {
  DoEverything();
  const int reasons = static_cast<int>(AllReasons().size());
  EXPECT_THAT(Text().size(),
              Eq(kOtherSeries + 14 * (17 + reasons + 1 + 22 + 3) + 4 * 11 + 1));
}

TEST_F(MetricsTextTest, NamesAndUnitsAreThoseOfPrometheus) {
  MakeMetrics(/*sessions=*/true);
  DoEverything();
  const PrometheusText text = Text();
  for (const auto& [name, family] : text.families()) {
    SCOPED_TRACE(name);
    EXPECT_THAT(name, AnyOf(StartsWith("lossscaler_"), StartsWith("process_")));
    EXPECT_THAT(family.type == "counter", Eq(name.ends_with("_total")));
    if (family.type == "histogram") {
      EXPECT_THAT(name, ::testing::EndsWith("_seconds"));
    }
    // Base units only, and the help says them.
    EXPECT_THAT(name, Not(::testing::ContainsRegex(
                          "milli|micro|nano|minute|hour|kilo|mega|percent")));
    if (name.find("seconds") != std::string::npos) {
      EXPECT_THAT(family.help, HasSubstr("econds"));
    }
    if (name.find("bytes") != std::string::npos) {
      EXPECT_THAT(family.help, HasSubstr("ytes"));
    }
    EXPECT_THAT(family.help, ::testing::EndsWith("."));
    EXPECT_FALSE(family.series.empty());
  }
}

TEST_F(MetricsTextTest, TheTableInTheReadmeIsWhatIsExported) {
  MakeMetrics(/*sessions=*/true);
  DoEverything();
  const PrometheusText text = Text();
  std::string exported;
  for (const auto& [name, family] : text.families()) {
    absl::StrAppend(&exported, name, " | ", family.type, " | ",
                    absl::StrJoin(family.labels, ", "), " | ", family.help,
                    "\n");
  }

  const std::string readme = lossscaler::testing::ReadFile(
      LOSSSCALER_TEST_DATA "/../../server/README.md");
  const std::size_t from = readme.find("\n## Metrics\n");
  ASSERT_NE(from, std::string::npos);
  const std::string section =
      readme.substr(from, readme.find("\n## ", from + 1) - from);
  std::map<std::string, std::string> rows;
  for (const absl::string_view line : absl::StrSplit(section, '\n')) {
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 6 || cells[1].find('`') == std::string::npos) continue;
    for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
    const std::string name = cells[1].substr(1, cells[1].size() - 2);
    // In the table in the order that reads best.
    std::set<std::string> labels;
    if (!cells[3].empty()) labels = absl::StrSplit(cells[3], ", ");
    rows[name] =
        absl::StrCat(name, " | ", cells[2], " | ", absl::StrJoin(labels, ", "),
                     " | ", cells[4], "\n");
  }
  std::string documented;
  for (const auto& [name, row] : rows) documented += row;
  EXPECT_EQ(documented, exported);
}

TEST_F(MetricsTextTest, SaysWhichServerItIsAndWhatItAllows) {
  const PrometheusText text = Text();
  EXPECT_THAT(text.Find(R"(lossscaler_build_info{version="1.2.3"})"),
              Optional(1));
  EXPECT_THAT(text.Find("lossscaler_start_time_seconds"),
              Optional(1'767'323'045));
  EXPECT_THAT(text.Find("lossscaler_starts"), Optional(7));
  EXPECT_THAT(text.Find(R"(lossscaler_limit{name="sessions"})"), Optional(11));
  EXPECT_THAT(text.Find(R"(lossscaler_limit{name="unscale_streams"})"),
              Optional(12));
  EXPECT_THAT(text.Find(R"(lossscaler_limit{name="bytes_in_flight"})"),
              Optional(13));
  EXPECT_THAT(text.Find(R"(lossscaler_limit{name="open_calls"})"),
              Optional(14));
  EXPECT_THAT(text.Find(R"(lossscaler_limit{name="watch_streams"})"),
              Optional(15));
}

TEST_F(MetricsTextTest, AsksForWhatOthersKnowEachTime) {
  sample_ = {.open_calls = 21,
             .unscale_streams = 22,
             .bytes_in_flight = 23,
             .watch_streams = 24,
             .store_healthy = true,
             .refused_connections = 25,
             .failed_tls_reloads = 26,
             .failed_token_reloads = 27};
  EXPECT_THAT(Value("lossscaler_rpc_open_calls"), Optional(21));
  EXPECT_THAT(Value("lossscaler_unscale_streams"), Optional(22));
  EXPECT_THAT(Value("lossscaler_bytes_in_flight"), Optional(23));
  EXPECT_THAT(Value("lossscaler_store_healthy"), Optional(1));
  EXPECT_THAT(Value("lossscaler_watch_streams"), Optional(24));
  EXPECT_THAT(Value("lossscaler_connections_refused_total"), Optional(25));
  EXPECT_THAT(Value(R"(lossscaler_reload_failures_total{what="tls"})"),
              Optional(26));
  EXPECT_THAT(Value(R"(lossscaler_reload_failures_total{what="tokens"})"),
              Optional(27));
  constexpr char kExpiry[] =
      "lossscaler_tls_certificate_expiry_timestamp_seconds";
  EXPECT_EQ(Value(kExpiry), std::nullopt);
  sample_.certificate_expiry = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_THAT(Value(kExpiry), Optional(1'800'000'000));
  sample_.store_healthy = false;
  EXPECT_THAT(Value("lossscaler_store_healthy"), Optional(0));
}

TEST_F(MetricsTextTest, CountsWritesAndThoseThatFailed) {
  metrics_->OnStoreWrite(absl::Microseconds(20), /*done=*/true);
  metrics_->OnStoreWrite(absl::Seconds(20), /*done=*/false);
  const PrometheusText text = Text();
  EXPECT_THAT(text.Find("lossscaler_store_write_failures_total"), Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_store_write_seconds_bucket{le="1e-05"})"),
              Optional(0));
  EXPECT_THAT(
      text.Find(R"(lossscaler_store_write_seconds_bucket{le="2.5e-05"})"),
      Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_store_write_seconds_bucket{le="10"})"),
              Optional(1));
  EXPECT_THAT(text.Find("lossscaler_store_write_seconds_count"), Optional(2));
}

TEST_F(MetricsTextTest, SaysWhatTheProcessCosts) {
  const PrometheusText text = Text();
  // A test program has a megabyte at least, and no terabyte.
  EXPECT_THAT(text.Find("process_resident_memory_bytes"),
              Optional(AllOf(Gt(1e6), Lt(1e12))));
  EXPECT_THAT(text.Find("process_cpu_seconds_total"), Optional(Gt(0)));
  const double before = text.Find("process_open_fds").value_or(-1);
  const std::unique_ptr<FILE, int (*)(FILE*)> file(tmpfile(), fclose);
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(Value("process_open_fds"), Optional(before + 1));
  EXPECT_THAT(Value("process_max_fds"), Optional(sysconf(_SC_OPEN_MAX)));
}

TEST_F(MetricsTextTest, IsWholeWhileEverythingIsCounted) {
  MakeMetrics(/*sessions=*/true);
  constexpr int kThreads = 4;
  constexpr int kRounds = 2'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      const SessionState session =
          SoloSession(absl::StrCat("s", t), absl::StrCat(t));
      Decision decision;
      for (int i = 0; i < kRounds; ++i) {
        // Each reason comes up in several threads at once.
        EndCall(
            Method::kUpdate,
            MakeError(
                AllReasons()[static_cast<std::size_t>(i) % AllReasons().size()],
                "x"),
            absl::Microseconds(i));
        metrics_->sessions().OnVote();
        Change(Cause::kCreate, nullptr, &session);
        Change(Cause::kVote, &session, &session, &decision);
        Change(Cause::kDelete, &session, nullptr);
        metrics_->sessions().OnVoteAnswered(absl::Microseconds(i),
                                            /*decided=*/true);
        metrics_->OnStoreWrite(absl::Microseconds(i), i % 2 == 0);
      }
    });
  }
  for (int i = 0; i < 20; ++i) Text();
  for (std::thread& thread : threads) thread.join();

  const PrometheusText text = Text();
  double errors = 0;
  for (const auto& [series, value] :
       text.families().at("lossscaler_rpc_errors_total").series) {
    errors += value;
  }
  EXPECT_THAT(errors, Eq(kThreads * kRounds));
  EXPECT_THAT(text.Find("lossscaler_waiting_votes"), Optional(0));
  EXPECT_THAT(text.Find(R"(lossscaler_sessions{kind="solo"})"), Optional(0));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="APPLY",reason="FINITE"})"),
      Optional(kThreads * kRounds));
  EXPECT_THAT(text.Find("lossscaler_store_write_failures_total"),
              Optional(kThreads * kRounds / 2));
}

}  // namespace
}  // namespace lossscaler::server
