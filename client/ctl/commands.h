// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The commands of lossscalerctl, after their flags have been read.
//
// Each writes its result to `out`, an error to `err`, and returns an ExitCode.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_COMMANDS_H_
#define LOSSSCALER_CTL_COMMANDS_H_

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

// What the commands work with; tests put their own in its place.
struct Environment {
  std::ostream& out;
  std::ostream& err;
  std::function<std::shared_ptr<Connection>(const ClientOptions&)> connect;
  // Whether the server at an address serves, asked for at most `wait`.
  std::function<absl::StatusOr<bool>(const std::string& address,
                                     absl::Duration wait)>
      is_serving;
};

enum class Format { kText, kJson };

int Create(const Environment& environment, Client client,
           const std::string& name, const absl::StatusOr<LossScaler>& scaler,
           Format format);
int Get(const Environment& environment, Connection& connection,
        const std::string& name, Format format);
int List(const Environment& environment, Client client,
         const std::string& prefix, Format format);
int Delete(const Environment& environment, Client client,
           const std::string& name, Format format);
int Health(const Environment& environment, const std::string& address,
           absl::Duration wait, Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_COMMANDS_H_
