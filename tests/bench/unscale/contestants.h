// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Who takes part, and the servers they need; see mover.h for what each does.

#ifndef LOSSSCALER_TESTS_BENCH_UNSCALE_CONTESTANTS_H_
#define LOSSSCALER_TESTS_BENCH_UNSCALE_CONTESTANTS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "bench/process/programs.h"
#include "bench/process/transport.h"

namespace lossscaler::bench {

inline constexpr std::string_view kLibrary = "library";
inline constexpr std::string_view kEcho = "echo";
inline constexpr std::string_view kKeptEcho = "echo-kept";
inline constexpr std::string_view kSink = "sink";
inline constexpr std::string_view kPlain = "plain";

// One server for each recipe and transport, for the whole run.
class Servers {
 public:
  // `lossscalerd` is the program; everything else lies in `directory`.
  static absl::StatusOr<Servers> Start(const std::string& lossscalerd,
                                       const std::string& directory);

  const Server& Of(std::string_view recipe, Transport transport) const;

 private:
  std::map<std::pair<std::string, Transport>, Server> servers_;
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_UNSCALE_CONTESTANTS_H_
