// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The commands about sessions and servers, after their flags have been read.
//
// Each writes its result to `out`, an error to `err`, and returns an ExitCode.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_COMMANDS_H_
#define LOSSSCALER_CTL_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ctl/environment.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler::ctl {

// Fails with the error of `scaler` if it is one. Without `group` a solo
// session.
int Create(const Environment& environment, Connection& connection,
           const std::string& name, const absl::StatusOr<LossScaler>& scaler,
           const std::optional<GroupConfig>& group, IfExists if_exists,
           Format format);
int Get(const Environment& environment, Connection& connection,
        const std::string& name, Format format);
// Writes nothing but the scaler, as RestoreRequest::file has it.
int GetCheckpoint(const Environment& environment, Connection& connection,
                  const std::string& name, Format format);
int List(const Environment& environment, Client client,
         const std::string& prefix, Format format);
int Delete(const Environment& environment, Connection& connection,
           const std::string& name, Format format);

struct RestoreRequest {
  std::string session;
  // JSON of lossscaler/core/loss_scaler_json.h, at most 64 KiB; "-" is `in`.
  std::string file;
  std::optional<std::int64_t> if_epoch;
  // Empty: one of the client's own.
  std::string request_id;
};
int Restore(const Environment& environment, Connection& connection,
            const RestoreRequest& request, Format format);

// kDone if the server serves, kRefused if it says that it does not.
int Health(const Environment& environment, const ClientOptions& options,
           Format format);
int Info(const Environment& environment, Connection& connection, Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_COMMANDS_H_
