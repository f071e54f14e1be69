// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/help_formatter.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ctl/connection_flags.h"
#include "ctl/exit_code.h"

namespace lossscaler::ctl {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 7;
constexpr std::size_t kDeeper = 11;

// `words` on lines that begin with `indent` blanks. A word is never cut.
std::string Wrap(const std::vector<std::string>& words, std::size_t indent) {
  std::string text;
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      text += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) text += std::string(indent, ' ') + line + "\n";
  return text;
}

std::string WrapText(const std::string& text, std::size_t indent) {
  return Wrap(absl::StrSplit(text, ' ', absl::SkipEmpty()), indent);
}

std::string Section(std::string_view title, const std::string& body) {
  if (body.empty()) return "";
  return absl::StrCat(std::string(title), "\n", body, "\n");
}

std::string Item(const std::string& term, const std::string& meaning) {
  return std::string(kIndent, ' ') + term + "\n" + WrapText(meaning, kDeeper);
}

std::pair<std::string, std::string> SummaryAndRest(const CLI::App* app) {
  return absl::StrSplit(app->get_description(), absl::MaxSplits("\n\n", 1));
}

std::string FullName(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name()
                           : FullName(parent) + " " + app->get_name();
}

// "-o,--output OUT", or "LOSS..." for an argument without a flag.
std::string Term(const CLI::Option* option) {
  if (option->get_positional()) {
    const std::string more = option->get_expected_max() > 1 ? "..." : "";
    return option->get_name(/*positional=*/true) + more;
  }
  std::string term = option->get_name(/*positional=*/false,
                                      /*all_options=*/true);
  if (option->get_items_expected_max() > 0) {
    absl::StrAppend(&term, " ", option->get_type_name());
  }
  return term;
}

std::string OptionalUnlessRequired(const CLI::Option* option) {
  return option->get_required() ? Term(option) : "[" + Term(option) + "]";
}

std::vector<const CLI::App*> OptionGroups(const CLI::App* app) {
  return app->get_subcommands(
      [](const CLI::App* sub) { return sub->get_name().empty(); });
}

std::vector<const CLI::App*> CommandsOf(const CLI::App* app) {
  return app->get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty(); });
}

// Arguments, exactly one of each group, and whatever else is wanted.
std::string Synopsis(const CLI::App* app) {
  std::vector<std::string> words = {FullName(app)};
  if (app->get_parent() == nullptr) {
    words.insert(words.end(), {"[OPTION]...", "COMMAND", "[ARGUMENT]..."});
    return Wrap(words, kIndent);
  }
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional()) {
      words.push_back(OptionalUnlessRequired(option));
    }
  }
  for (const CLI::App* group : OptionGroups(app)) {
    const auto options = group->get_options();
    words.push_back(absl::StrCat(
        "(",
        absl::StrJoin(
            options, " | ",
            [](std::string* out, auto* option) { out->append(Term(option)); }),
        ")"));
  }
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional() || option == app->get_help_ptr()) continue;
    words.push_back(OptionalUnlessRequired(option));
  }
  return Wrap(words, kIndent);
}

// Arguments, then groups, then whatever else is wanted.
std::string Options(const CLI::App* app) {
  std::string arguments;
  std::string flags;
  for (const CLI::Option* option : app->get_options()) {
    (option->get_positional() ? arguments : flags) +=
        Item(Term(option), option->get_description());
  }
  for (const CLI::App* group : OptionGroups(app)) arguments += Options(group);
  return arguments + flags;
}

std::string CommandList(const CLI::App* app) {
  std::string text;
  for (const CLI::App* command : CommandsOf(app)) {
    text += Item(command->get_name(), SummaryAndRest(command).first);
  }
  return text;
}

std::string Variables() {
  std::string text = WrapText(
      "A flag beats its variable; an empty variable is none.", kIndent);
  for (const ConnectionSetting& setting : ConnectionSettings()) {
    text += Item(setting.variable, *setting.flag == '\0'
                                       ? std::string(setting.help)
                                       : absl::StrCat("as ", setting.flag));
  }
  return text;
}

std::string ExitStatus() {
  const auto item = [](ExitCode code, const std::string& meaning) {
    return Item(absl::StrCat(static_cast<int>(code)), meaning);
  };
  return absl::StrCat(
      item(kDone, "done"),
      item(kRefused,
           "refused by the server in its present state (a session that is "
           "missing or taken, a conflict, a limit), not serving, or the result "
           "could not be written"),
      item(kWrongUsage,
           "wrong usage or bad input, whether the command or the server "
           "finds it"),
      item(
          kOutOfReach,
          "the server is out of reach or not ready in time, or (vote) there is "
          "no decision in time"),
      item(kOverflowFound,
           "`unscale --fail-on-overflow` found a gradient that is not "
           "finite"));
}

std::string Examples(const CLI::App* app) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(app->get_footer(), '\n')) {
    absl::StrAppend(&text, std::string(kIndent, ' '), line, "\n");
  }
  return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  const bool is_root = app->get_parent() == nullptr;
  const auto [summary, rest] = SummaryAndRest(app);
  std::string options = Options(app);
  if (!is_root) {
    options += WrapText(
        absl::StrCat("The options and variables of every command are in `",
                     FullName(app->get_parent()), " --help`."),
        kIndent);
  }
  return absl::StrCat(
      Section("NAME", WrapText(FullName(app) + " - " + summary, kIndent)),
      Section("SYNOPSIS", Synopsis(app)),
      Section("DESCRIPTION", WrapText(rest, kIndent)),
      Section("COMMANDS", CommandList(app)), Section("OPTIONS", options),
      Section("ENVIRONMENT", is_root ? Variables() : ""),
      Section("EXIT STATUS", ExitStatus()), "EXAMPLES\n", Examples(app));
}

}  // namespace lossscaler::ctl
