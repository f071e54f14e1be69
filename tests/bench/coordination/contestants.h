// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The ways to a common decision that are compared, and the servers they need.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_CONTESTANTS_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_CONTESTANTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/process/programs.h"

namespace lossscaler::bench {

inline constexpr std::string_view kBare = "bare";
inline constexpr std::string_view kRedis = "redis";
inline constexpr std::string_view kRedisAlways = "redis/always";
inline constexpr std::string_view kGloo = "gloo";

struct Contestant {
  // "memory/unix": durability and transport of ours; or one of the above.
  std::string name;
  // As coordination_worker knows it.
  std::string recipe;
  std::string address;
};

// Servers that serve groups of every size, one after the other.
class Contestants {
 public:
  // `lossscalerd` is the program; everything else lies in `directory`.
  static absl::StatusOr<Contestants> Start(const std::string& lossscalerd,
                                           const std::string& directory);

  // For groups of `workers`; the bare server is made for one size.
  absl::StatusOr<std::vector<Contestant>> Of(int workers);

  bool has_redis() const { return has_redis_; }

 private:
  explicit Contestants(std::string directory)
      : directory_(std::move(directory)) {}

  absl::Status StartOurs(const std::string& lossscalerd,
                         const std::string& durability);
  absl::Status StartRedis(const std::string& program, std::string_view name,
                          const std::string& appendonly);
  // A new folder.
  std::string Folder(std::string_view name) const;

  std::string directory_;
  std::vector<Server> servers_;
  std::vector<Contestant> lasting_;
  Server bare_;
  bool has_redis_ = false;
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_CONTESTANTS_H_
