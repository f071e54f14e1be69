// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The calls that are compared, and the servers they need.

#ifndef LOSSSCALER_TESTS_BENCH_CALLS_CONTESTANTS_H_
#define LOSSSCALER_TESTS_BENCH_CALLS_CONTESTANTS_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/process/programs.h"
#include "bench/process/transport.h"

namespace lossscaler::bench {

inline constexpr std::string_view kPing = "ping";
inline constexpr std::string_view kScaleLoss = "scale-loss";

struct Contestant {
  // The call; of Update also what the server does before it answers:
  // "update/memory", "update/relaxed", "update/full".
  std::string name;
  // As calls_worker knows it.
  std::string recipe;
  std::string address;
  pid_t server = 0;
  // Makes a fifth of the calls that the others make: it takes as long.
  bool slow = false;
};

// All of one transport, with their servers.
class Contestants {
 public:
  // `lossscalerd` is the program; everything else lies in `directory`.
  static absl::StatusOr<Contestants> Start(Transport transport,
                                           const std::string& lossscalerd,
                                           const std::string& directory);

  const std::vector<Contestant>& all() const { return all_; }

 private:
  // Has `server`, which must have come up, answer the call.
  absl::Status Add(absl::StatusOr<Server> server,
                   const std::vector<Contestant>& calls);

  std::vector<Server> servers_;
  std::vector<Contestant> all_;
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_CALLS_CONTESTANTS_H_
