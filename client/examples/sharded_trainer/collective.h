// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Collective: what this trainer needs of gloo, without its exceptions.
//
// Every rank makes the same calls in the same order. An error is UNAVAILABLE
// (a rank died, or stayed silent for too long) and ends the Collective: its
// connections are of no use any more, and it has to be connected again under
// another name.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_COLLECTIVE_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_COLLECTIVE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace gloo {
class Context;
}  // namespace gloo

namespace lossscaler::sharded {

struct CollectiveOptions {
  int rank = 0;
  int ranks = 1;
  // A folder that all ranks share, where they find each other.
  std::string meeting_place;
  // How long a rank may be silent.
  absl::Duration timeout = absl::Seconds(30);
};

// Thread safety: one thread at a time.
class Collective {
 public:
  // Waits until every rank has come under this name. A name is used once.
  // ABORTED as soon as `wanted` says no: the others will not come, or not
  // under this name.
  static absl::StatusOr<Collective> Connect(
      const CollectiveOptions& options, const std::string& name,
      const std::function<bool()>& wanted);

  // The sum over all ranks, added up in float16, as wide as hardware that
  // reduces in float16 would have it.
  absl::Status AllReduce(std::span<Eigen::half> values);

  // What every rank gives, by rank. REQUIRES: as many as ranks * mine.
  template <typename T>
  absl::Status AllGather(std::span<const T> mine, std::span<T> all) {
    static_assert(std::is_trivially_copyable_v<T>);
    return AllGatherBytes(std::as_bytes(mine), std::as_writable_bytes(all));
  }

  // From one rank to another; the others need not call.
  absl::Status Send(int to, std::span<const std::byte> bytes);
  absl::Status Receive(int from, std::span<std::byte> bytes);

 private:
  explicit Collective(std::shared_ptr<gloo::Context> context)
      : context_(std::move(context)) {}

  absl::Status AllGatherBytes(std::span<const std::byte> mine,
                              std::span<std::byte> all);

  std::shared_ptr<gloo::Context> context_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_COLLECTIVE_H_
