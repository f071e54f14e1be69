// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/group_flags.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ctl/policy_words.h"
#include "ctl/value_flags.h"

namespace lossscaler::ctl {
namespace {

std::string DefaultText(std::int64_t value) { return absl::StrCat(value); }
std::string DefaultText(absl::Duration value) {
  return absl::FormatDuration(value);
}

// Adds flags that need --max-workers.
class MemberFlags {
 public:
  MemberFlags(CLI::App* create, GroupFlags* flags)
      : create_(create), flags_(flags) {}

  template <typename T>
  void AddNumber(const std::string& flag, T GroupConfig::*field,
                 const std::string& help) {
    AddValue<T>(create_, flag,
                absl::StrCat(help, " (default ",
                             DefaultText(GroupConfig().*field), ")"),
                Sets<T>(flag, field))
        ->group(kGroup);
  }

  template <typename Enum>
  void AddPolicy(const std::string& flag, Enum GroupConfig::*field,
                 std::span<const std::string_view> words,
                 const std::string& help) {
    AddWordFlag(create_, flag, help, words,
                static_cast<std::size_t>(GroupConfig().*field),
                [set = Sets<Enum>(flag, field)](std::size_t index) {
                  set(static_cast<Enum>(index));
                })
        ->group(kGroup);
  }

  void AddWorkers() {
    AddValueTo<std::int64_t>(create_, "--max-workers",
                             "make the session a group of at most so many "
                             "workers, which share each decision",
                             &flags_->max_workers)
        ->group(kGroup);
    AddValue<std::int64_t>(
        create_, "--min-workers",
        "votes are taken while so many are in (default: all of them)",
        [flags = flags_](std::int64_t value) {
          flags->min_workers = value;
          flags->given = "--min-workers";
        })
        ->group(kGroup);
  }

  void AddPatience() {
    create_
        ->add_flag_callback(
            "--no-early-decision",
            [set = Sets<bool>("--no-early-decision",
                              &GroupConfig::early_decision)] { set(false); },
            "wait for every vote although one is an overflow")
        ->group(kGroup);
  }

 private:
  static constexpr char kGroup[] = "groups";

  template <typename T>
  std::function<void(T)> Sets(const std::string& flag, T GroupConfig::*field) {
    return [flags = flags_, flag, field](T value) {
      flags->config.*field = value;
      flags->given = flag;
    };
  }

  CLI::App* const create_;
  GroupFlags* const flags_;
};

}  // namespace

void AddGroupFlags(CLI::App* create, GroupFlags* flags) {
  using Config = GroupConfig;
  MemberFlags members(create, flags);
  members.AddWorkers();
  members.AddNumber("--lease-ttl", &Config::lease_ttl,
                    "how long a worker may be silent: 5s to 1h");
  members.AddNumber(
      "--step-timeout", &Config::step_timeout,
      "how long a step may stay open after its first vote: 1s to 24h");
  members.AddPolicy("--on-loss", &Config::on_loss, kLossPolicies,
                    "what ends a step whose worker was lost before it had "
                    "voted");
  members.AddPolicy("--on-timeout", &Config::on_timeout, kStragglerPolicies,
                    "what ends a step that is open for too long");
  members.AddNumber("--max-timeouts", &Config::max_timeouts,
                    "timeouts in a row that abort a step and end the "
                    "membership of who has not voted");
  members.AddPatience();
  members.AddPolicy("--parts", &Config::parts, kPartPolicies,
                    "which parts an overflow in one of them skips: all, or "
                    "each for itself");
  members.AddNumber("--degraded-skips", &Config::degraded_skips,
                    "skips in a row that are reported as degraded");
}

absl::StatusOr<std::optional<GroupConfig>> MakeGroup(const GroupFlags& flags) {
  if (!flags.max_workers) {
    if (flags.given.empty()) return std::nullopt;
    return absl::InvalidArgumentError(absl::StrCat(
        flags.given, " needs --max-workers, which makes the session a group"));
  }
  GroupConfig config = flags.config;
  config.max_workers = *flags.max_workers;
  config.min_workers = flags.min_workers.value_or(config.max_workers);
  return config;
}

}  // namespace lossscaler::ctl
