// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The commands about the workers of a group, after their flags have been read.
//
// Each writes its result to `out`, an error to `err`, and returns an ExitCode;
// WRONG_KIND if the session is no group.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_WORKER_COMMANDS_H_
#define LOSSSCALER_CTL_WORKER_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "ctl/environment.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::ctl {

int Workers(const Environment& environment, Connection& connection,
            const std::string& name, Format format);

struct JoinRequest {
  std::string session;
  std::string worker;
  // Unset: that of the checkpoint, else 0.
  std::optional<std::int64_t> attempt;
  std::string resume_token;
  // What WorkerSession::Checkpoint() returned, at most 64 KiB; "-" is `in`;
  // empty: none.
  std::string checkpoint_file;
  // Without a file: present the initial scaler and base 0.
  bool from_the_start = false;
  // Empty: one of the client's own.
  std::string request_id;
};
int Join(const Environment& environment, Connection& connection,
         const JoinRequest& request, Format format);

struct LeaveRequest {
  std::string session;
  std::string worker;
  // Unset: the one that is in now, and an error if there is none.
  std::optional<std::int64_t> incarnation;
};
int Leave(const Environment& environment, Connection& connection,
          const LeaveRequest& request, Format format);

struct VoteRequest {
  std::string session;
  std::string worker;
  // Unset: the one that is in now.
  std::optional<std::int64_t> incarnation;
  // Named by whoever votes: the session may have moved on meanwhile.
  std::int64_t step = 0;
  Verdict verdict = Verdict::kUnset;
  // Unset: those of the step, open or decided; none of an ABSTAIN.
  std::optional<std::int64_t> base;
  std::optional<double> scale_used;
  std::optional<std::int64_t> iteration;
  std::optional<double> sum_of_squares;
  std::vector<PartVote> parts;
  // How long to wait for the decision. Unset: as long as a step takes at most,
  // unless the session waits without bound.
  std::optional<absl::Duration> wait;
};
// Waits for the decision over a connection of its own, made of `options`, on
// which the vote is sent again so often that its worker's lease does not run
// out.
int CastVote(const Environment& environment, const ClientOptions& options,
             const VoteRequest& request, Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_WORKER_COMMANDS_H_
