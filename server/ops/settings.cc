// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/settings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ops/address.h"
#include "ops/quantity.h"

namespace lossscaler::server {
namespace {

using Apply = std::function<std::string(const SettingValues&, Config*)>;

std::string Quote(std::string_view text) {
  return absl::StrCat("\"", std::string(text), "\"");
}

// What the rows have in common: parse one value, test it, store it.
template <typename T, typename Parse, typename Field>
Apply ApplyOne(Parse parse, std::string_view what, T min, T max, Field field) {
  return [=](const SettingValues& values, Config* config) -> std::string {
    const std::optional<T> value = parse(values.front());
    if (!value.has_value()) {
      return absl::StrCat(Quote(values.front()), " is not ", std::string(what));
    }
    if (*value < min || *value > max) {
      return absl::StrCat(Quote(values.front()), " is out of range");
    }
    config->*field = *value;
    return "";
  };
}

// Config's limits are one level down.
template <typename T>
struct LimitField {
  T Limits::*member;
  friend T& operator->*(Config* config, LimitField field) {
    return config->limits.*field.member;
  }
};
template <typename T>
LimitField(T Limits::*) -> LimitField<T>;

std::string ShortDuration(absl::Duration duration) {
  // absl writes 1h0m0s.
  std::string text = absl::FormatDuration(duration);
  if (text.ends_with("m0s")) text.resize(text.size() - 2);
  if (text.ends_with("h0m")) text.resize(text.size() - 2);
  return text == "0" ? "0s" : text;
}

template <typename Field>
Setting DurationSetting(std::string_view group, std::string_view key,
                        absl::Duration initial, absl::Duration min,
                        absl::Duration max, Field field, std::string meaning) {
  return {.group = group,
          .key = key,
          .kind = SettingKind::kDuration,
          .default_values = {ShortDuration(initial)},
          .meaning = std::move(meaning),
          .allowed =
              absl::StrCat("a duration from ", ShortDuration(min), " to ",
                           ShortDuration(max), ", such as 20s, 1m30s or 500ms"),
          .apply = ApplyOne(ParseDuration, "a duration", min, max, field)};
}

template <typename Field>
Setting IntegerSetting(std::string_view group, std::string_view key,
                       std::int64_t initial, std::int64_t min, std::int64_t max,
                       Field field, std::string meaning) {
  return {.group = group,
          .key = key,
          .kind = SettingKind::kInteger,
          .default_values = {absl::StrCat(initial)},
          .meaning = std::move(meaning),
          .allowed = absl::StrCat("a whole number from ", min, " to ", max),
          .apply = ApplyOne(ParseInteger, "a whole number", min, max, field)};
}

template <typename Field>
Setting BytesSetting(std::string_view group, std::string_view key,
                     std::int64_t initial, std::int64_t min, std::int64_t max,
                     Field field, std::string meaning) {
  return {
      .group = group,
      .key = key,
      .kind = SettingKind::kBytes,
      .default_values = {FormatBytes(initial)},
      .meaning = std::move(meaning),
      .allowed = absl::StrCat("a size from ", FormatBytes(min), " to ",
                              FormatBytes(max), ", in B, KiB, MiB, GiB or TiB"),
      .apply = ApplyOne(ParseBytes, "a size", min, max, field)};
}

Setting BoolSetting(std::string_view group, std::string_view key,
                    bool Config::*field, std::string meaning) {
  return {.group = group,
          .key = key,
          .kind = SettingKind::kBool,
          .default_values = {Config().*field ? "true" : "false"},
          .meaning = std::move(meaning),
          .allowed = "true or false",
          .apply = [field](const SettingValues& values,
                           Config* config) -> std::string {
            const std::string& value = values.front();
            if (value != "true" && value != "false") {
              return absl::StrCat(Quote(value), " is neither");
            }
            config->*field = value == "true";
            return "";
          }};
}

template <typename T>
using Choice = std::pair<std::string_view, T>;

template <typename T, std::size_t n>
Setting ChoiceSetting(std::string_view group, std::string_view key,
                      T Config::*field, std::array<Choice<T>, n> choices,
                      std::string_view initial, std::string meaning) {
  std::vector<std::string> names;
  names.reserve(n);
  for (const auto& [name, value] : choices) names.emplace_back(name);
  return {.group = group,
          .key = key,
          .kind = SettingKind::kText,
          .default_values = {std::string(initial)},
          .meaning = std::move(meaning),
          .allowed = absl::StrCat("one of ", absl::StrJoin(names, ", ")),
          .apply = [field, choices](const SettingValues& values,
                                    Config* config) -> std::string {
            for (const auto& [name, value] : choices) {
              if (name == values.front()) {
                config->*field = value;
                return "";
              }
            }
            return absl::StrCat(Quote(values.front()), " is none of them");
          }};
}

std::string ApplyListen(const SettingValues& values, Config* config) {
  if (values.empty()) return "there is no address";
  for (const std::string& value : values) {
    const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(value);
    if (!address.ok()) {
      return absl::StrCat(Quote(value), ": ",
                          std::string(address.status().message()));
    }
  }
  config->listen = values;
  return "";
}

std::string ApplyStore(const SettingValues& values, Config* config) {
  constexpr std::string_view kPrefix = "sqlite:";
  const std::string& value = values.front();
  if (value == kPrefix) return "the folder after \"sqlite:\" is missing";
  if (value != "memory" && value != "sqlite" && !value.starts_with(kPrefix)) {
    return absl::StrCat(Quote(value), " is no store");
  }
  config->store = value;
  return "";
}

std::string ApplyAdminListen(const SettingValues& values, Config* config) {
  const std::string& value = values.front();
  if (!value.empty()) {
    const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(value);
    if (!address.ok()) {
      return absl::StrCat(Quote(value), ": ",
                          std::string(address.status().message()));
    }
    if (address->is_unix()) {
      return absl::StrCat(Quote(value), " is no TCP address");
    }
  }
  config->admin_listen = value;
  return "";
}

std::string WhyNoFile(const std::string& value) {
  return value.ends_with('/') ? absl::StrCat(Quote(value), " is a folder") : "";
}

Setting FileSetting(std::string_view group, std::string_view key,
                    std::string Config::*field, std::string meaning) {
  return {.group = group,
          .key = key,
          .kind = SettingKind::kText,
          .default_values = {Config().*field},
          .meaning = std::move(meaning),
          .allowed = "the path of a file",
          .apply = [field](const SettingValues& values,
                           Config* config) -> std::string {
            config->*field = values.front();
            return WhyNoFile(values.front());
          }};
}

std::vector<Setting> MakeTable() {
  const Config initial;
  constexpr std::string_view kServing = "Serving";
  constexpr std::string_view kSecurity = "Security";
  constexpr std::string_view kStore = "Store";
  constexpr std::string_view kLimits = "Limits";
  constexpr std::string_view kKeepalive = "Keepalive";
  constexpr std::string_view kMetrics = "Metrics";
  constexpr std::string_view kLogging = "Logging";
  constexpr absl::Duration kDay = absl::Hours(24);
  // gRPC counts milliseconds in an int.
  constexpr absl::Duration kLongestAge = absl::Hours(24 * 24);
  constexpr std::int64_t kMany = 1'000'000'000;

  std::vector<Setting> table;
  table.push_back(
      {.group = kServing,
       .key = "listen",
       .kind = SettingKind::kList,
       .default_values = initial.listen,
       .meaning =
           "Where to listen; may be given several times. Port 0 is any free "
           "port.",
       .allowed = "IP:PORT, [IPV6]:PORT, localhost:PORT or unix:/PATH",
       .apply = ApplyListen});
  table.push_back(BoolSetting(kServing, "reflection", &Config::reflection,
                              "Offer gRPC server reflection."));
  table.push_back(
      FileSetting(kServing, "ready_file", &Config::ready_file,
                  "File that holds the bound addresses, one per line, while "
                  "the server serves; empty for none."));
  table.push_back(DurationSetting(
      kServing, "drain_timeout", initial.drain_timeout, absl::ZeroDuration(),
      absl::Hours(1), &Config::drain_timeout,
      "How long calls that are open may take to finish when the server is "
      "asked to end."));
  table.push_back(
      {.group = kServing,
       .key = "admin_listen",
       .kind = SettingKind::kText,
       .default_values = {initial.admin_listen},
       .meaning = "Where HTTP is served for operators: /metrics, /healthz and "
                  "/readyz. Port 0 is any free port; empty for nowhere.",
       .allowed = "IP:PORT, [IPV6]:PORT or localhost:PORT",
       .apply = ApplyAdminListen});

  table.push_back(BoolSetting(
      kSecurity, "insecure", &Config::insecure,
      "Allow TCP addresses that other machines can reach, although not "
      "everything protects them: TLS, and tokens or client certificates."));
  table.push_back(BoolSetting(
      kSecurity, "admin_insecure", &Config::admin_insecure,
      "Allow an admin_listen that other machines can reach. It tells how the "
      "server is to whoever asks, and changes nothing."));
  table.push_back(FileSetting(
      kSecurity, "tls_cert", &Config::tls_cert,
      "Certificate chain (PEM) that the server shows on its TCP addresses. "
      "Read again when it changes."));
  table.push_back(FileSetting(
      kSecurity, "tls_key", &Config::tls_key,
      "Private key (PEM) of tls_cert, which others must not be able to read. "
      "Read again when it changes."));
  table.push_back(FileSetting(
      kSecurity, "tls_client_ca", &Config::tls_client_ca,
      "Authorities (PEM) that must vouch for the certificate of every client; "
      "empty to ask for none. Read again when it changes."));
  table.push_back(FileSetting(
      kSecurity, "token_file", &Config::token_file,
      "Tokens that callers must show (TOML, hashed), which others must not be "
      "able to read; empty to ask for none. Read again when it changes."));

  table.push_back(
      {.group = kStore,
       .key = "store",
       .kind = SettingKind::kText,
       .default_values = {initial.store},
       .meaning =
           "Where state lives: memory forgets it at exit, sqlite keeps it in "
           "the default folder, sqlite:DIR in DIR.",
       .allowed = "memory, sqlite or sqlite:DIR",
       .apply = ApplyStore});
  table.push_back(
      ChoiceSetting<bool, 2>(kStore, "durability", &Config::relaxed_durability,
                             {{{"full", false}, {"relaxed", true}}}, "full",
                             "What answers in sqlite survive: full a power "
                             "loss, relaxed only a killed "
                             "server."));
  table.push_back(
      IntegerSetting(kStore, "journal_decisions", initial.journal_decisions,
                     1024, kMany, &Config::journal_decisions,
                     "Decisions that the journal keeps for each session."));
  table.push_back(DurationSetting(
      kStore, "journal_age", initial.journal_age, absl::Hours(1), 3660 * kDay,
      &Config::journal_age,
      "Age at which decisions leave the journal; the latest 1024 stay."));

  table.push_back(IntegerSetting(
      kLimits, "max_sessions", initial.limits.max_sessions, 1, 10'000'000,
      LimitField{&Limits::max_sessions}, "Sessions that may exist."));
  table.push_back(IntegerSetting(kLimits, "max_unscale_streams",
                                 initial.limits.max_unscale_streams, 1, 100'000,
                                 LimitField{&Limits::max_unscale_streams},
                                 "Unscale streams open at one time."));
  table.push_back(BytesSetting(
      kLimits, "max_bytes_in_flight", initial.limits.max_bytes_in_flight,
      2 * kMaxMessageBytes, std::int64_t{1} << 40,
      LimitField{&Limits::max_bytes_in_flight},
      "Memory for the chunks of all open Unscale streams together."));
  table.push_back(IntegerSetting(
      kLimits, "max_tensors_per_stream", initial.limits.max_tensors_per_stream,
      1, 10'000'000, LimitField{&Limits::max_tensors_per_stream},
      "Tensors that one Unscale stream may open."));
  table.push_back(DurationSetting(
      kLimits, "unscale_idle", initial.limits.unscale_idle, absl::Seconds(1),
      kDay, LimitField{&Limits::unscale_idle},
      "Time without a chunk after which an Unscale stream is ended."));

  table.push_back(DurationSetting(
      kKeepalive, "keepalive_time", initial.keepalive_time, absl::Seconds(1),
      kDay, &Config::keepalive_time,
      "Silence of a connection after which the server asks whether the peer is "
      "still there."));
  table.push_back(DurationSetting(
      kKeepalive, "keepalive_timeout", initial.keepalive_timeout,
      absl::Seconds(1), absl::Hours(1), &Config::keepalive_timeout,
      "Time without an answer after which the server closes "
      "such a connection."));
  table.push_back(DurationSetting(
      kKeepalive, "http2_min_recv_ping_interval_without_data",
      initial.http2_min_recv_ping_interval_without_data,
      absl::Milliseconds(100), absl::Hours(1),
      &Config::http2_min_recv_ping_interval_without_data,
      "Shortest interval at which clients may ask whether the server is still "
      "there; a client that asks more often is disconnected."));
  table.push_back(DurationSetting(
      kKeepalive, "max_connection_idle", initial.max_connection_idle,
      absl::ZeroDuration(), kDay, &Config::max_connection_idle,
      "Time without a call after which a connection is closed; 0s for never."));
  table.push_back(DurationSetting(
      kKeepalive, "max_connection_age", initial.max_connection_age,
      absl::ZeroDuration(), kLongestAge, &Config::max_connection_age,
      "Age at which a connection is closed, so that clients spread over "
      "addresses anew; 0s for never."));
  table.push_back(DurationSetting(
      kKeepalive, "max_connection_age_grace", initial.max_connection_age_grace,
      absl::ZeroDuration(), kDay, &Config::max_connection_age_grace,
      "How long the calls of such a connection may still take; 0s for as long "
      "as they like."));

  table.push_back(BoolSetting(
      kMetrics, "session_metrics", &Config::session_metrics,
      "Show scale, step and last decision of each session in /metrics, of the "
      "first 1000 by name."));

  table.push_back(ChoiceSetting<LogFormat, 2>(
      kLogging, "log_format", &Config::log_format,
      {{{"text", LogFormat::kText}, {"json", LogFormat::kJson}}}, "text",
      "Format of the log on stderr."));
  table.push_back(
      ChoiceSetting<LogLevel, 4>(kLogging, "log_level", &Config::log_level,
                                 {{{"debug", LogLevel::kDebug},
                                   {"info", LogLevel::kInfo},
                                   {"warning", LogLevel::kWarning},
                                   {"error", LogLevel::kError}}},
                                 "info", "Least level that is logged."));
  return table;
}

}  // namespace

std::string Setting::Flag() const {
  return absl::StrCat(
      "--", absl::StrReplaceAll(absl::string_view(key.data(), key.size()),
                                {{"_", "-"}}));
}

std::string Setting::Variable() const {
  return absl::StrCat(
      std::string(kVariablePrefix),
      absl::AsciiStrToUpper(absl::string_view(key.data(), key.size())));
}

const std::vector<Setting>& AllSettings() {
  static const std::vector<Setting>* const table =
      new std::vector<Setting>(MakeTable());
  return *table;
}

const Setting* FindSetting(std::string_view key) {
  for (const Setting& setting : AllSettings()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

bool IsProtected(const Config& config) {
  return !config.tls_cert.empty() && !config.tls_key.empty() &&
         !(config.token_file.empty() && config.tls_client_ca.empty());
}

std::vector<std::string> CheckTogether(const Config& config) {
  std::vector<std::string> problems;
  std::set<std::string> seen;
  for (const std::string& text : config.listen) {
    const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(text);
    if (!address.ok()) {
      problems.push_back(absl::StrCat("listen: ", Quote(text), ": ",
                                      std::string(address.status().message())));
      continue;
    }
    const bool any_port = !address->is_unix() && address->port() == 0;
    if (!any_port && !seen.insert(address->ToString()).second) {
      problems.push_back(absl::StrCat("listen: ", Quote(text),
                                      " is given twice; name each address "
                                      "once"));
    }
    if (!address->is_local() && !IsProtected(config) && !config.insecure) {
      problems.push_back(absl::StrCat(
          "listen: ", Quote(text),
          " is not a loopback address: other machines could reach the server, "
          "and nothing protects it; set tls_cert and tls_key, and token_file "
          "or tls_client_ca, or listen on 127.0.0.1, [::1] or a unix socket, "
          "or allow it with --insecure on a network you trust"));
    }
  }
  const bool tls = !config.tls_cert.empty();
  if (tls != !config.tls_key.empty()) {
    problems.push_back(absl::StrCat(
        tls ? "tls_cert" : "tls_key", ": ", tls ? "tls_key" : "tls_cert",
        " is not set; a certificate and its key go together, set both"));
  }
  if (!config.tls_client_ca.empty() && !tls) {
    problems.push_back(
        "tls_client_ca: without tls_cert and tls_key there is no TLS, and no "
        "client shows a certificate; set them");
  }
  if (const absl::StatusOr<ListenAddress> admin =
          ListenAddress::Parse(config.admin_listen);
      admin.ok() && !admin->is_local() && !config.admin_insecure) {
    problems.push_back(absl::StrCat(
        "admin_listen: ", Quote(config.admin_listen),
        " is not a loopback address: other machines could read metrics and "
        "health; listen on 127.0.0.1 or [::1], or allow it with "
        "--admin-insecure on a network you trust"));
  }
  return problems;
}

}  // namespace lossscaler::server
