// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/exit_code.h"
#include "ops/resolve.h"
#include "ops/settings.h"

namespace lossscaler::server {
namespace {

// As man(1) has it.
constexpr std::size_t kWidth = 80;
constexpr std::size_t kGroupIndent = 3;
constexpr std::size_t kIndent = 7;
constexpr std::size_t kDeeper = 11;

// A word is never cut.
std::string Paragraph(std::string_view text, std::size_t indent) {
  const std::string blanks(indent, ' ');
  std::string out;
  std::string line;
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
      absl::StrAppend(&out, blanks, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  absl::StrAppend(&out, blanks, line, "\n");
  return out;
}

std::string Item(std::string_view term, std::string_view meaning) {
  return absl::StrCat(std::string(kIndent, ' '), std::string(term), "\n",
                      Paragraph(meaning, kDeeper));
}

std::string Section(std::string_view title, const std::string& body) {
  return absl::StrCat(std::string(title), "\n", body, "\n");
}

std::string_view Placeholder(SettingKind kind) {
  switch (kind) {
    case SettingKind::kText:
      return " TEXT";
    case SettingKind::kList:
      return " ADDR";
    case SettingKind::kBool:
      return "";
    case SettingKind::kInteger:
      return " NUMBER";
    case SettingKind::kDuration:
      return " DURATION";
    case SettingKind::kBytes:
      return " SIZE";
  }
  return "";
}

std::string SettingItem(const Setting& setting) {
  const std::string initial = absl::StrJoin(setting.default_values, ",");
  return absl::StrCat(
      Item(setting.Flag() + std::string(Placeholder(setting.kind)),
           setting.meaning),
      Paragraph(absl::StrCat("Allowed: ", setting.allowed, "."), kDeeper),
      Paragraph(
          absl::StrCat("Default: ", initial.empty() ? "none" : initial, "."),
          kDeeper),
      Paragraph(absl::StrCat("Variable: ", setting.Variable()), kDeeper));
}

std::string Options() {
  std::string text = absl::StrCat(
      Item("--config FILE", "Read settings from this file; see FILES."),
      Paragraph("Variable: LOSSSCALERD_CONFIG", kDeeper),
      Item("--print-config",
           "Print every setting and where it came from, as such a file, and "
           "exit. It has names of files, never what is in them."),
      Item("--check-config", "Check the settings, and exit."),
      Item("--version", "Print the version, and exit."),
      Item("-h, --help", "Print this page, and exit."));
  std::string_view group;
  for (const Setting& setting : AllSettings()) {
    if (setting.group != group) {
      absl::StrAppend(&text, "\n", std::string(kGroupIndent, ' '),
                      std::string(setting.group), "\n");
      group = setting.group;
    }
    text += SettingItem(setting);
  }
  return text;
}

std::string Files() {
  return absl::StrCat(
      Item("the file of --config",
           "TOML. Its keys, at the top level, are the flags without dashes in "
           "front and with _ for - within: drain_timeout = \"1m\". Durations "
           "and sizes are strings, listen is an array of strings."),
      Item("the folder of --store",
           "With sqlite: the first folder of $STATE_DIRECTORY, else "
           "/var/lib/lossscaler for root, else "
           "${XDG_STATE_HOME:-~/.local/state}/lossscaler. One server at a time "
           "has it."),
      Item("PATH.lock",
           "Beside a unix socket at PATH, while a server listens there."),
      Item("certificate, key, authorities, tokens",
           "Looked at every second, and read again when they have changed. If "
           "the new one cannot be used, the log says so and the old one stays "
           "in force. Key and token file must not be readable by others."));
}

std::string EnvironmentVariables() {
  return absl::StrCat(
      Item("LOSSSCALERD_...",
           "Every setting, as shown beside its flag. Addresses of "
           "LOSSSCALERD_LISTEN are separated by commas. A variable of this "
           "prefix that is no setting is an error."),
      Item("STATE_DIRECTORY, XDG_STATE_HOME, HOME",
           "Where the default folder of the store is; see FILES."),
      Item("GRPC_VERBOSITY",
           "Which of gRPC's own messages come into the log: NONE, ERROR "
           "(default), INFO or DEBUG."));
}

std::string Signals() {
  return absl::StrCat(
      Item("SIGTERM, SIGINT",
           "Drain: health says NOT_SERVING, new calls are refused, and open "
           "calls may finish within --drain-timeout. A second one ends the "
           "wait."),
      Item("SIGKILL", "Is safe for what is in the store."));
}

std::string ExitStatus() {
  const auto item = [](ExitCode code, std::string_view meaning) {
    return Item(absl::StrCat(static_cast<int>(code)), meaning);
  };
  return absl::StrCat(
      item(ExitCode::kDrained, "Drained: every open call was answered."),
      item(ExitCode::kConfiguration,
           "A setting is wrong, or a file that it names cannot be used: a "
           "certificate, a key, tokens, the ready file."),
      item(ExitCode::kBind,
           "An address, or that of --admin-listen, cannot be bound, or "
           "another process has it."),
      item(ExitCode::kStore,
           "The store cannot be opened, is damaged, or another server has it."),
      item(ExitCode::kDrainTimedOut,
           "Calls were still open when the drain timed out."));
}

std::string Examples() {
  std::string text;
  for (const std::string_view line :
       {"lossscalerd",
        "lossscalerd --listen unix:/run/lossscaler/socket --log-format json",
        "lossscalerd --listen 0.0.0.0:50551 --tls-cert server.pem \\",
        "    --tls-key server.key --token-file tokens.toml",
        "LOSSSCALERD_STORE=sqlite:/srv/lossscaler lossscalerd "
        "--print-config"}) {
    absl::StrAppend(&text, std::string(kIndent, ' '), std::string(line), "\n");
  }
  return text;
}

}  // namespace

std::string HelpText() {
  return absl::StrCat(
      Section("NAME",
              Paragraph("lossscalerd - one loss scale and one decision per "
                        "step for every worker of a training run",
                        kIndent)),
      Section("SYNOPSIS", Paragraph("lossscalerd [OPTION]...", kIndent)),
      Section("DESCRIPTION",
              absl::StrCat(
                  Paragraph("Serves loss scaling to trainers over gRPC, keeps "
                            "what it decides, and serves metrics and health "
                            "over HTTP. It logs to standard error, one event "
                            "per line.",
                            kIndent),
                  "\n",
                  Paragraph("A flag beats the environment, which beats the "
                            "file of --config, which beats the default. "
                            "Everything given is checked, and everything that "
                            "is wrong is reported at once.",
                            kIndent))),
      Section("OPTIONS", Options()), Section("FILES", Files()),
      Section("ENVIRONMENT", EnvironmentVariables()),
      Section("SIGNALS", Signals()), Section("EXIT STATUS", ExitStatus()),
      "EXAMPLES\n", Examples());
}

}  // namespace lossscaler::server
