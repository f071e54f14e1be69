// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Voter: one worker of a group that takes a common decision per step, by one of
// the recipes that are compared.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_VOTER_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_VOTER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::bench {

struct VoterOptions {
  // Where the recipe's server listens; for gloo, a folder that all share.
  std::string address;
  // Of the group; used once.
  std::string session;
  int rank = 0;
  int workers = 1;
};

// Thread safety: one thread.
class Voter {
 public:
  virtual ~Voter() = default;
  // Votes that the gradients are finite, and returns when the decision of the
  // step is here: the whole of what a worker does for it.
  virtual absl::Status Vote() = 0;
};

// Returns when the worker may vote, which may take all others of its group.
using MakeVoter =
    absl::StatusOr<std::unique_ptr<Voter>>(const VoterOptions& options);

// 24 bytes to a server that counts, 24 bytes back: no decision can cost less.
MakeVoter MakeBareVoter;
// The client library.
MakeVoter MakeLibraryVoter;
// The messages of Participate alone, by gRPC's generated blocking stub.
MakeVoter MakeStreamVoter;
// One Lua script for each vote; the decision comes by pub/sub.
MakeVoter MakeRedisVoter;
// An all-reduce of one value, with no server.
MakeVoter MakeGlooVoter;

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_VOTER_H_
