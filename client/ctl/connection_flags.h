// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The flags and environment variables that say which server to talk to, and
// how.
//
// Thread safety: as an int; variables are read by MakeClientOptions().

#ifndef LOSSSCALER_CTL_CONNECTION_FLAGS_H_
#define LOSSSCALER_CTL_CONNECTION_FLAGS_H_

#include <span>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "lossscaler/client/options.h"

namespace lossscaler::ctl {

// As given on the command line; empty: not given.
struct ConnectionFlags {
  std::string address;
  std::string deadline;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string tls;
  std::string token_file;
  std::string call_id;
};

// A setting that has a flag, a variable, or both. The flag wins.
struct ConnectionSetting {
  // Empty: none.
  const char* flag;
  const char* variable;
  // How the help spells the value; empty for a switch.
  const char* value;
  const char* help;
  std::string ConnectionFlags::*given;
};

std::span<const ConnectionSetting> ConnectionSettings();

void AddConnectionFlags(CLI::App* app, ConnectionFlags* flags);

// Flags, variables for what no flag says (an empty one says nothing), and
// defaults, with the files they name read. INVALID_ARGUMENT without a reason
// says what is wrong with the command line; INVALID_CREDENTIALS, with a file.
absl::StatusOr<ClientOptions> MakeClientOptions(const ConnectionFlags& flags);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_CONNECTION_FLAGS_H_
