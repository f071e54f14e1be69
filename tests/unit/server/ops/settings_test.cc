// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Every source of settings, their precedence, and what is wrong with them.

#include "ops/settings.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/exit_code.h"
#include "ops/resolve.h"
#include "ops/setting_sources.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::TempDirectory;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

class SettingsTest : public ::testing::Test {
 protected:
  absl::StatusOr<ResolvedSettings> Resolve(const Words& arguments,
                                           const Words& environment = {}) {
    return ResolveSettings(ReadCommandLine(arguments).settings,
                           ReadEnvironment(environment));
  }
  std::string Problems(const Words& arguments, const Words& environment = {}) {
    const auto resolved = Resolve(arguments, environment);
    EXPECT_FALSE(resolved.ok());
    EXPECT_EQ(ExitCodeOf(resolved.status()), ExitCode::kConfiguration);
    return std::string(resolved.status().message());
  }
  // The path of a file with this text.
  std::string File(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  static std::string OriginOf(const ResolvedSettings& resolved,
                              std::string_view key) {
    for (const GivenSetting& given : resolved.settings) {
      if (given.setting->key == key) return given.origin;
    }
    return "no such setting";
  }

  TempDirectory directory_;
  const std::string path_ = absl::StrCat(directory_.path(), "/c.toml");
};

TEST_F(SettingsTest, DefaultsAreThoseOfTheDesign) {
  const auto resolved = Resolve({});
  ASSERT_THAT(resolved, IsOk());
  const Config& config = resolved->config;
  EXPECT_THAT(config.listen, ElementsAre("127.0.0.1:50551"));
  EXPECT_EQ(config.store, "sqlite");
  EXPECT_FALSE(config.relaxed_durability);
  EXPECT_FALSE(config.insecure);
  EXPECT_FALSE(config.reflection);
  EXPECT_EQ(config.drain_timeout, absl::Seconds(20));
  EXPECT_EQ(config.journal_decisions, 100'000);
  EXPECT_EQ(config.journal_age, absl::Hours(720));
  EXPECT_EQ(config.limits.max_sessions, 10'000);
  EXPECT_EQ(config.limits.max_unscale_streams, 64);
  EXPECT_EQ(config.limits.max_bytes_in_flight, 268'435'456);
  EXPECT_EQ(config.limits.max_tensors_per_stream, 65'536);
  EXPECT_EQ(config.limits.unscale_idle, absl::Seconds(30));
  for (const GivenSetting& given : resolved->settings) {
    EXPECT_EQ(given.origin, "default") << given.setting->key;
  }
}

// Every default passes its own check, and says what the config says anyway.
TEST_F(SettingsTest, TableAndConfigAgreeOnDefaults) {
  for (const Setting& setting : AllSettings()) {
    Config config;
    EXPECT_EQ(setting.apply(setting.default_values, &config), "")
        << setting.key;
    const Config initial;
    EXPECT_EQ(config.listen, initial.listen);
    EXPECT_EQ(config.insecure, initial.insecure);
    EXPECT_EQ(config.reflection, initial.reflection);
    EXPECT_EQ(config.ready_file, initial.ready_file);
    EXPECT_EQ(config.drain_timeout, initial.drain_timeout);
    EXPECT_EQ(config.store, initial.store);
    EXPECT_EQ(config.relaxed_durability, initial.relaxed_durability);
    EXPECT_EQ(config.journal_age, initial.journal_age);
    EXPECT_EQ(config.limits.unscale_idle, initial.limits.unscale_idle);
    EXPECT_EQ(config.limits.max_bytes_in_flight,
              initial.limits.max_bytes_in_flight);
    EXPECT_EQ(config.keepalive_time, initial.keepalive_time);
    EXPECT_EQ(config.keepalive_timeout, initial.keepalive_timeout);
    EXPECT_EQ(config.http2_min_recv_ping_interval_without_data,
              initial.http2_min_recv_ping_interval_without_data);
    EXPECT_EQ(config.log_format, initial.log_format);
    EXPECT_EQ(config.log_level, initial.log_level);
  }
}

TEST_F(SettingsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const Words config = {"--config",
                        File("\nmax_sessions = 1\nlog_level = \"error\"\n"
                             "unscale_idle = \"1s\"\n")};
  Words flags = config;
  flags.insert(flags.end(), {"--max-sessions", "3"});
  const auto resolved = Resolve(
      flags, {"LOSSSCALERD_MAX_SESSIONS=2", "LOSSSCALERD_LOG_LEVEL=warning"});
  ASSERT_THAT(resolved, IsOk());
  EXPECT_EQ(resolved->config.limits.max_sessions, 3);
  EXPECT_EQ(resolved->config.log_level, LogLevel::kWarning);
  EXPECT_EQ(resolved->config.limits.unscale_idle, absl::Seconds(1));
  EXPECT_EQ(OriginOf(*resolved, "max_sessions"), "flag --max-sessions");
  EXPECT_EQ(OriginOf(*resolved, "log_level"),
            "environment LOSSSCALERD_LOG_LEVEL");
  EXPECT_EQ(OriginOf(*resolved, "unscale_idle"),
            absl::StrCat("file ", path_, ":4"));
  EXPECT_EQ(OriginOf(*resolved, "store"), "default");
}

// What --print-config prints is a file with a value of every kind in it.
TEST_F(SettingsTest, EverySettingComesFromEverySource) {
  const Words values = {"--listen=unix:/x",
                        "--listen=127.0.0.1:1",
                        "--insecure",
                        "--reflection=true",
                        "--ready-file=/r \"q\" \\",
                        "--drain-timeout=1m1s",
                        "--admin-listen=127.0.0.1:2",
                        "--admin-insecure",
                        "--tls-cert=/cert",
                        "--tls-key=/key",
                        "--tls-client-ca=/ca",
                        "--token-file=/tokens",
                        "--store=memory",
                        "--durability=relaxed",
                        "--journal-decisions=2000",
                        "--journal-age=2h",
                        "--max-sessions=5",
                        "--max-unscale-streams=6",
                        "--max-bytes-in-flight=9MiB",
                        "--max-tensors-per-stream=7",
                        "--unscale-idle=8s",
                        "--keepalive-time=9s",
                        "--keepalive-timeout=10s",
                        "--http2-min-recv-ping-interval-without-data=200ms",
                        "--max-connection-idle=11s",
                        "--max-connection-age=12s",
                        "--max-connection-age-grace=13s",
                        "--session-metrics",
                        "--log-format=json",
                        "--log-level=debug"};
  const auto from_flags = Resolve(values);
  ASSERT_THAT(from_flags, IsOk());
  Words environment;
  for (const GivenSetting& given : from_flags->settings) {
    EXPECT_EQ(given.origin, absl::StrCat("flag ", given.setting->Flag()));
    environment.push_back(absl::StrCat(given.setting->Variable(), "=",
                                       absl::StrJoin(given.values, ",")));
  }
  const auto from_environment = Resolve({}, environment);
  ASSERT_THAT(from_environment, IsOk());
  const auto from_file = Resolve({"--config", File(PrintConfig(*from_flags))});
  ASSERT_THAT(from_file, IsOk());

  for (const auto* resolved : {&*from_flags, &*from_environment, &*from_file}) {
    const Config& config = resolved->config;
    EXPECT_THAT(config.listen, ElementsAre("unix:/x", "127.0.0.1:1"));
    EXPECT_TRUE(config.insecure);
    EXPECT_TRUE(config.reflection);
    EXPECT_EQ(config.ready_file, "/r \"q\" \\");
    EXPECT_EQ(config.drain_timeout, absl::Seconds(61));
    EXPECT_EQ(config.store, "memory");
    EXPECT_TRUE(config.relaxed_durability);
    EXPECT_EQ(config.journal_decisions, 2000);
    EXPECT_EQ(config.journal_age, absl::Hours(2));
    EXPECT_EQ(config.limits.max_sessions, 5);
    EXPECT_EQ(config.limits.max_unscale_streams, 6);
    EXPECT_EQ(config.limits.max_bytes_in_flight, 9 * 1024 * 1024);
    EXPECT_EQ(config.limits.max_tensors_per_stream, 7);
    EXPECT_EQ(config.limits.unscale_idle, absl::Seconds(8));
    EXPECT_EQ(config.keepalive_time, absl::Seconds(9));
    EXPECT_EQ(config.keepalive_timeout, absl::Seconds(10));
    EXPECT_EQ(config.http2_min_recv_ping_interval_without_data,
              absl::Milliseconds(200));
    EXPECT_EQ(config.max_connection_idle, absl::Seconds(11));
    EXPECT_EQ(config.max_connection_age, absl::Seconds(12));
    EXPECT_EQ(config.max_connection_age_grace, absl::Seconds(13));
    EXPECT_EQ(config.admin_listen, "127.0.0.1:2");
    EXPECT_TRUE(config.admin_insecure);
    EXPECT_EQ(config.tls_cert, "/cert");
    EXPECT_EQ(config.tls_key, "/key");
    EXPECT_EQ(config.tls_client_ca, "/ca");
    EXPECT_EQ(config.token_file, "/tokens");
    EXPECT_TRUE(config.session_metrics);
    EXPECT_EQ(config.log_format, LogFormat::kJson);
    EXPECT_EQ(config.log_level, LogLevel::kDebug);
  }
}

TEST_F(SettingsTest, PrintedDefaultsReadBackAsThemselves) {
  const auto resolved = Resolve({});
  ASSERT_THAT(resolved, IsOk());
  const std::string printed = PrintConfig(*resolved);
  EXPECT_THAT(printed, HasSubstr("drain_timeout = \"20s\"  # default\n"));
  const auto again = Resolve({"--config", File(printed)});
  ASSERT_THAT(again, IsOk());
  for (std::size_t i = 0; i < AllSettings().size(); ++i) {
    EXPECT_EQ(again->settings[i].values, AllSettings()[i].default_values);
  }
}

TEST_F(SettingsTest, ConfigFileMayBeNamedByTheEnvironment) {
  const std::string path = File("max_sessions = 4");
  const auto resolved = Resolve({}, {"LOSSSCALERD_CONFIG=" + path});
  ASSERT_THAT(resolved, IsOk());
  EXPECT_EQ(resolved->config.limits.max_sessions, 4);
}

TEST_F(SettingsTest, EmptyFlagValueIsAValueOfText) {
  const auto resolved =
      Resolve({"--ready-file="}, {"LOSSSCALERD_READY_FILE=/r"});
  ASSERT_THAT(resolved, IsOk());
  EXPECT_EQ(resolved->config.ready_file, "");
}

TEST_F(SettingsTest, EverythingWrongIsSaidAtOnce) {
  const std::string problems = Problems(
      {"--config", File("drain_timeout = \"soon\"\ncolour = 1\n"),
       "--max-sessions=0", "--bogus"},
      {"LOSSSCALERD_TYPO=1", "LOSSSCALERD_LOG_LEVEL=loud", "OTHER_TYPO=1"});
  EXPECT_THAT(
      problems,
      AllOf(HasSubstr(absl::StrCat("file ", path_,
                                   ":1: drain_timeout: \"soon\" is not a "
                                   "duration; allowed: a duration from 0s")),
            HasSubstr(absl::StrCat("file ", path_,
                                   ":2: there is no setting \"colour\"")),
            HasSubstr("flag --max-sessions: max_sessions: \"0\" is out of "
                      "range; allowed: a whole number from 1 to"),
            HasSubstr("\"--bogus\" is not a flag"),
            HasSubstr("environment LOSSSCALERD_TYPO: there is no such setting"),
            HasSubstr("environment LOSSSCALERD_LOG_LEVEL: log_level: \"loud\" "
                      "is none of them; allowed: one of debug, info, warning, "
                      "error"),
            Not(HasSubstr("OTHER_TYPO"))));
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 5);
}

TEST_F(SettingsTest, DoubledIsWrongInEverySource) {
  EXPECT_THAT(Problems({"--store=memory", "--store=memory"}),
              HasSubstr("flag --store: given 2 times"));
  EXPECT_THAT(Problems({"--insecure", "--insecure"}),
              HasSubstr("flag --insecure: given 2 times"));
  EXPECT_THAT(
      Problems({}, {"LOSSSCALERD_STORE=memory", "LOSSSCALERD_STORE=sqlite"}),
      HasSubstr("environment LOSSSCALERD_STORE: given twice"));
  EXPECT_THAT(
      Problems({"--config", File("max_sessions = 1\nmax_sessions = 1\n")}),
      AllOf(HasSubstr(absl::StrCat("file ", path_, ":2")),
            HasSubstr("max_sessions")));
}

TEST_F(SettingsTest, ListenIsRepeatableButNotTheSameAddress) {
  EXPECT_THAT(Problems({"--listen=127.0.0.1:1", "--listen=localhost:1"}),
              HasSubstr("\"localhost:1\" is given twice"));
  EXPECT_THAT(Resolve({"--listen=127.0.0.1:0", "--listen=127.0.0.1:0"}),
              IsOk());
}

TEST_F(SettingsTest, OpenAddressNeedsInsecure) {
  EXPECT_THAT(Problems({"--listen=0.0.0.0:1"}),
              AllOf(HasSubstr("\"0.0.0.0:1\" is not a loopback address"),
                    HasSubstr("--insecure")));
  EXPECT_THAT(Resolve({"--listen=0.0.0.0:1", "--insecure"}), IsOk());
}

// It counts milliseconds in an int: 2^31 of them are 596 hours and a half.
TEST_F(SettingsTest, NoTimeOfAConnectionIsLongerThanGrpcCanCount) {
  for (const char* flag : {"--max-connection-age", "--max-connection-idle",
                           "--max-connection-age-grace", "--keepalive-time"}) {
    EXPECT_FALSE(Resolve({absl::StrCat(flag, "=597h")}).ok()) << flag;
  }
  EXPECT_THAT(Resolve({"--max-connection-age=576h"}), IsOk());
}

TEST_F(SettingsTest, MissingFlagValueIsNotTheNextFlag) {
  EXPECT_THAT(Problems({"--ready-file", "--insecure"}),
              HasSubstr("flag --ready-file: the value is missing"));
  EXPECT_THAT(Problems({"--max-sessions=", "--store=memory"}),
              HasSubstr("flag --max-sessions: the value is missing"));
  EXPECT_THAT(Problems({"--store"}), HasSubstr("--store"));
  EXPECT_THAT(Problems({"stray"}), HasSubstr("\"stray\" is not a flag"));
}

TEST_F(SettingsTest, FileValuesHaveTheTypeOfTheSetting) {
  struct Case {
    std::string text;
    std::string says;
  };
  for (const Case& c : {
           Case{"max_sessions = \"5\"", "a number without quotes"},
           Case{"max_sessions = 5.0", "a number without quotes"},
           Case{"insecure = \"true\"", "true or false without quotes"},
           Case{"drain_timeout = 20", "such as \"20s\""},
           Case{"max_bytes_in_flight = 1", "such as \"256MiB\""},
           Case{"listen = \"127.0.0.1:1\"", "an array of strings"},
           Case{"listen = [1]", "an array of strings"},
           Case{"listen = []", "there is no address"},
           Case{"store = true", "a string"},
           Case{"[store]\ndir = \"x\"", "a string"},
           Case{"[limits]\nmax_sessions = 1", "no setting \"limits\""},
           Case{"config = \"x\"", "no setting \"config\""},
           Case{"max_sessions 5", "TOML"},
       }) {
    EXPECT_THAT(Problems({"--config", File(c.text)}), HasSubstr(c.says))
        << c.text;
  }
}

TEST_F(SettingsTest, UnreadableFileIsNamed) {
  const std::string none = absl::StrCat(directory_.path(), "/none");
  EXPECT_THAT(Problems({"--config", none}),
              HasSubstr(absl::StrCat("file ", none, ": cannot be read: No")));
  EXPECT_THAT(Problems({"--config", directory_.path()}),
              HasSubstr("it is a folder"));
}

// The overridden value would bite when the flag is left out one day.
TEST_F(SettingsTest, OverriddenValuesAreCheckedToo) {
  EXPECT_THAT(Problems({"--log-level=info"}, {"LOSSSCALERD_LOG_LEVEL=loud"}),
              HasSubstr("LOSSSCALERD_LOG_LEVEL"));
}

TEST_F(SettingsTest, StoresThatDoNotExistAreRefused) {
  for (const char* store : {"redis", "", "memory:x", "sqlite:"}) {
    EXPECT_THAT(Problems({absl::StrCat("--store=", store)}),
                HasSubstr("allowed: memory, sqlite or sqlite:DIR"))
        << store;
  }
}

TEST_F(SettingsTest, ActionsAreNotSettings) {
  const CommandLine line = ReadCommandLine(
      Words{"--check-config", "--print-config", "--version", "-h"});
  EXPECT_TRUE(line.check_config && line.print_config && line.version &&
              line.help);
  EXPECT_THAT(line.settings.problems, ElementsAre());
  EXPECT_FALSE(ReadCommandLine(Words{}).help);
}

TEST_F(SettingsTest, HelpShowsFlagVariableAndDefaultOfEverySetting) {
  const std::string help = HelpText();
  for (const Setting& setting : AllSettings()) {
    EXPECT_THAT(help, HasSubstr(absl::StrCat("\n       ", setting.Flag())));
    EXPECT_THAT(help, HasSubstr(absl::StrCat("\n           Variable: ",
                                             setting.Variable(), "\n")));
  }
  EXPECT_THAT(help, HasSubstr("Default: 256MiB."));
}

// As man(1) lays out a page.
TEST_F(SettingsTest, HelpIsAPageOfTheManual) {
  const std::string help = HelpText();
  std::size_t at = 0;
  for (const char* section :
       {"NAME\n       lossscalerd - ", "\nSYNOPSIS\n       lossscalerd ",
        "\nDESCRIPTION\n", "\nOPTIONS\n", "\nFILES\n", "\nENVIRONMENT\n",
        "\nSIGNALS\n", "\nEXIT STATUS\n", "\nEXAMPLES\n"}) {
    const std::size_t found = help.find(section, at);
    ASSERT_NE(found, std::string::npos) << section;
    at = found;
  }
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_FALSE(absl::EndsWith(line, " ")) << line;
  }
  for (const Setting& setting : AllSettings()) {
    EXPECT_THAT(help, HasSubstr(absl::StrCat(
                          "\n   ", std::string(setting.group), "\n       --")));
  }
  // One word of each code's meaning.
  for (const char* status :
       {"       0\n           Drained", "       1\n           A setting",
        "       2\n           An address", "       3\n           The store",
        "       4\n           Calls"}) {
    EXPECT_THAT(help, HasSubstr(status));
  }
}

TEST_F(SettingsTest, ReadmeHasTheTable) {
  std::ifstream stream(std::filesystem::path(LOSSSCALER_TEST_DATA) /
                       "../../server/README.md");
  const std::string readme{std::istreambuf_iterator<char>(stream), {}};
  std::string table;
  for (const Setting& setting : AllSettings()) {
    const std::string initial = absl::StrJoin(setting.default_values, ",");
    absl::StrAppend(&table, "| `", std::string(setting.key), "` | ",
                    initial.empty() ? "none" : absl::StrCat("`", initial, "`"),
                    " | ", setting.meaning, " | ", setting.allowed, " |\n");
  }
  EXPECT_THAT(readme,
              HasSubstr(absl::StrCat("|---|---|---|---|\n", table, "\n")))
      << "the README's table of settings must be\n"
      << table;
}

}  // namespace
}  // namespace lossscaler::server
