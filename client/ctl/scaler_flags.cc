// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/scaler_flags.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ctl/value_flags.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/presets.h"
#include "lossscaler/core/scaler_members.h"

namespace lossscaler::ctl {
namespace {

// Adds the flags of the knobs of a Dynamic scaler.
class KnobFlags {
 public:
  KnobFlags(CLI::App* create, ScalerFlags* flags)
      : create_(create), flags_(flags) {}

  // A number, of the field's own type (that in its std::optional).
  template <typename Field>
  void AddNumber(const std::string& flag, Field DynamicOptions::*field,
                 const std::string& help) {
    using T = std::conditional_t<std::is_same_v<Field, std::int64_t>,
                                 std::int64_t, double>;
    std::string by_default;
    if constexpr (std::is_same_v<Field, T>) {
      by_default = absl::StrCat(
          " (default ", NumberText(static_cast<double>(defaults_.*field)), ")");
    }
    AddValue<T>(create_, flag, absl::StrCat(help, by_default),
                Changes<T>(flag, field))
        ->group(kGroup);
  }

  template <typename Enum>
  void AddWord(const std::string& flag, Enum DynamicOptions::*field,
               const std::string& help) {
    AddWordFlag(create_, flag, help, kWords<Enum>,
                static_cast<std::size_t>(defaults_.*field),
                [change = Changes<Enum>(flag, field)](std::size_t index) {
                  change(static_cast<Enum>(index));
                })
        ->group(kGroup);
  }

 private:
  static constexpr char kGroup[] = "knobs of --dynamic and --preset";

  // Notes a change of `field` to the value it is called with.
  template <typename T, typename Field>
  std::function<void(T)> Changes(const std::string& flag,
                                 Field DynamicOptions::*field) {
    return [flags = flags_, flag, field](T value) {
      flags->changes.push_back(
          {.flag = flag, .make = [field, value](DynamicOptions* options) {
             options->*field = value;
           }});
    };
  }

  const DynamicOptions defaults_;
  CLI::App* const create_;
  ScalerFlags* const flags_;
};

void AddNumbers(KnobFlags* knobs) {
  using Options = DynamicOptions;
  knobs->AddNumber("--init-scale", &Options::initial_scale,
                   "the scale to begin with");
  knobs->AddNumber("--growth-factor", &Options::growth_factor,
                   "multiplies the scale when it grows; above 1");
  knobs->AddNumber("--backoff-factor", &Options::backoff_factor,
                   "multiplies the scale on overflow; between 0 and 1");
  knobs->AddNumber("--growth-interval", &Options::growth_interval,
                   "clean steps in a row before the scale grows");
  knobs->AddNumber("--min-scale", &Options::min_scale,
                   "the scale never backs off below this");
  knobs->AddNumber("--max-scale", &Options::max_scale,
                   "the scale never grows above this");
  knobs->AddNumber("--hysteresis", &Options::hysteresis,
                   "overflows that are needed for a backoff");
  knobs->AddNumber("--max-consecutive-skips", &Options::max_consecutive_skips,
                   "skips in a row that are reported as stalled; 0 never");
}

void AddWords(KnobFlags* knobs) {
  using Options = DynamicOptions;
  knobs->AddWord("--hysteresis-refill", &Options::hysteresis_refill,
                 "what makes the overflows count from the start again");
  knobs->AddWord("--growth-count", &Options::growth_count,
                 "how clean steps are counted");
  knobs->AddWord("--precision", &Options::precision,
                 "what scale and factors are computed in");
  knobs->AddWord("--finite-guard", &Options::finite_guard,
                 "what a growth past the largest float32 does");
  knobs->AddWord("--unscale-arithmetic", &Options::unscale_arithmetic,
                 "how gradients are unscaled");
  knobs->AddWord("--floor-action", &Options::floor_action,
                 "what a backoff that --min-scale stops does");
}

}  // namespace

void AddScalerFlags(CLI::App* create, ScalerFlags* flags) {
  CLI::App* kind = AddExclusiveGroup(create, "kind");
  kind->add_flag("--none", flags->none, "scale 1, for ever");
  AddValueTo<double>(kind, "--static", "a constant scale", &flags->static_scale)
      ->type_name("SCALE");
  kind->add_flag(
      "--dynamic", flags->dynamic,
      "a scale that backs off on overflow and grows after clean steps");
  AddValueTo<std::string>(
      kind, "--preset",
      absl::StrCat("a dynamic scale as another system has it; knobs given "
                   "beside it change it: ",
                   JoinWords(PresetNames())),
      &flags->preset)
      ->type_name("NAME");
  KnobFlags knobs(create, flags);
  AddNumbers(&knobs);
  AddWords(&knobs);
}

absl::StatusOr<LossScaler> MakeScaler(const ScalerFlags& flags) {
  if (!flags.dynamic && !flags.preset) {
    if (!flags.changes.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          flags.changes.front().flag, " needs --dynamic or --preset"));
    }
    if (flags.static_scale) return LossScaler::Static(*flags.static_scale);
    return LossScaler::None();
  }
  DynamicOptions options;
  if (flags.preset) {
    const absl::StatusOr<DynamicOptions> preset = PresetOptions(*flags.preset);
    if (!preset.ok()) return preset.status();
    options = *preset;
  }
  for (const ScalerFlags::Change& change : flags.changes) change.make(&options);
  return LossScaler::Dynamic(options);
}

}  // namespace lossscaler::ctl
