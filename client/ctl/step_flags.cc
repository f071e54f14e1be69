// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The flags of the commands about a step.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ctl/command_flags.h"
#include "ctl/step_commands.h"
#include "ctl/unscale_files.h"
#include "ctl/unscale_flags.h"
#include "ctl/value_flags.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

absl::StatusOr<ElementType> ParseLossType(std::string_view text) {
  for (const ElementType type :
       {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBFloat16}) {
    if (ElementTypeName(type) == text) return type;
  }
  return absl::InvalidArgumentError(
      Quoted(text) + " is not one of float32, float16, bfloat16");
}

}  // namespace

Command AddScale(CLI::App* app) {
  const auto request = std::make_shared<ScaleRequest>();
  CLI::App* scale = app->add_subcommand(
      "scale",
      "multiply losses by the scale of a step\n\n"
      "Shows every loss, the scaled loss, and what is wrong with it: a loss "
      "that is not finite, or one that overflows when scaled. Losses are read "
      "as float32; inf and nan are losses too. Write -- before the losses if "
      "one is -inf.");
  AddSessionName(scale, &request->session);
  AddValues<float>(scale, "LOSS", "the losses", &request->losses);
  AddStep(scale, &request->step);
  scale
      ->add_option_function<std::string>(
          "--loss-type",
          [request = request.get()](const std::string& word) {
            request->loss_type = *ParseLossType(word);
          },
          "the type that must hold the scaled losses: float32, float16 or "
          "bfloat16 (default float32)")
      ->type_name("TYPE")
      ->check(Check(ParseLossType));
  scale->footer(
      "lossscalerctl scale team/project/run 0.25 --loss-type float16");
  return {.app = scale, .run = [request](const Invocation& invocation) {
            return Scale(invocation.environment, *invocation.Connect(),
                         *request, invocation.format);
          }};
}

Command AddUpdate(CLI::App* app) {
  const auto request = std::make_shared<UpdateRequest>();
  CLI::App* update = app->add_subcommand(
      "update",
      "vote on a step and show the decision\n\n"
      "Says what the gradients of a step were, which decides whether it "
      "applies and what the scale is next. A vote that is repeated with its "
      "--step is not counted twice: the decision is shown again. Workers of a "
      "group vote with `vote`.");
  AddSessionName(update, &request->session);
  AddVerdict(update, &request->verdict);
  AddStep(update, &request->step);
  AddGrounds(update, &request->base, &request->scale_used, &request->iteration);
  update->footer("lossscalerctl update team/project/run --finite --step 7");
  return {.app = update, .run = [request](const Invocation& invocation) {
            return Update(invocation.environment, *invocation.Connect(),
                          *request, invocation.format);
          }};
}

Command AddUnscale(CLI::App* app) {
  const auto flags = std::make_shared<UnscaleFlags>();
  CLI::App* unscale = app->add_subcommand(
      "unscale",
      "divide NumPy files of gradients by the scale of a step\n\n"
      "Reads .npy files of float16, float32 or float64 and writes float32, or "
      "float64 for float64. Shows whether a gradient overflowed, the norm "
      "of those that are finite, and the first bad value of each file. Each "
      "result appears whole or not at all.");
  AddUnscaleFlags(unscale, flags.get());
  unscale->footer(
      "lossscalerctl unscale team/project/run grads/*.npy -o unscaled/\n"
      "lossscalerctl unscale team/run w.npy --check-only "
      "--fail-on-overflow");
  return {.app = unscale, .run = [flags](const Invocation& invocation) {
            const absl::StatusOr<UnscaleRequest> request = MakeUnscaleRequest(
                *flags, invocation.environment.err_is_terminal &&
                            invocation.format == Format::kText);
            if (!request.ok()) return invocation.Fail(request.status());
            return UnscaleFiles(invocation.environment, *invocation.Connect(),
                                *request, invocation.format);
          }};
}

}  // namespace lossscaler::ctl
