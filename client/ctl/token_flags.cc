// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The flags of make-token.

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "ctl/command_flags.h"
#include "ctl/make_token.h"
#include "ctl/value_flags.h"

namespace lossscaler::ctl {

Command AddMakeToken(CLI::App* app) {
  const auto request = std::make_shared<TokenRequest>();
  CLI::App* make = app->add_subcommand(
      "make-token",
      "make a token for the token file of a server\n\n"
      "Writes a new random token, which is shown this once, and the [[token]] "
      "that the server's token_file needs to know it: only a hash, from which "
      "nobody gets the token back. Talks to no server.");
  AddValueTo<std::string>(
      make, "--name", "what logs call whoever shows the token", &request->name)
      ->type_name("NAME")
      ->required();
  AddValueTo<std::string>(
      make, "--role",
      absl::StrCat("what it allows, each what those before it do: ",
                   JoinWords(kTokenRoles)),
      &request->role)
      ->type_name("ROLE")
      ->check(Check(
          [](std::string_view text) { return ParseWord(kTokenRoles, text); }))
      ->required();
  AddValueTo<std::string>(
      make, "--sessions",
      "only sessions whose names start with this, as team/ (default: all)",
      &request->sessions)
      ->type_name("PREFIX");
  make->footer(
      "lossscalerctl make-token --name vision --role worker --sessions "
      "vision/\n"
      "lossscalerctl make-token --name ops --role admin --json | jq -r .token");
  return {.app = make,
          .run =
              [request](const Invocation& invocation) {
                return MakeToken(invocation.environment, *request,
                                 invocation.format);
              },
          .calls = false};
}

}  // namespace lossscaler::ctl
