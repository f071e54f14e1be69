// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Mover: one way to have gradients travel to a server, and back.
//
//   library    the client library and lossscalerd: RETURN_GRADIENTS or
//              CHECK_ONLY. The whole product: every element is divided, tested
//              and, with RETURN_GRADIENTS, stored where it came from.
//   echo       ByteBuffers of the same sizes, sent back as they are; the client
//              lets go of them. No message is made or parsed, no value looked
//              at: what gRPC does for whoever uses its callback API. The
//              library and lossscalerd have one thread for the stream at each
//              end, and may be faster for that.
//   echo-kept  the same, but the client copies what comes back into its
//              gradients, as everybody must who wants to have them.
//   sink       ByteBuffers, answered by a few bytes each.
//   plain      a message with a `bytes` field by generated stubs, as one writes
//              it first: blocking calls, gRPC's and glibc's defaults. The
//              server divides and tests in the message it has received, the
//              client copies in and out.

#ifndef LOSSSCALER_TESTS_BENCH_UNSCALE_MOVER_H_
#define LOSSSCALER_TESTS_BENCH_UNSCALE_MOVER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::bench {

// What everything is divided by: so near to 1 that what is divided a thousand
// times is still a usual number, and no power of two.
inline constexpr float kScale = 1.0000001F;

// Thread safety: any thread; each has a stream of its own.
class Mover {
 public:
  virtual ~Mover() = default;

  // All of `gradients` through one stream. An error if not everything arrived.
  virtual absl::Status Move(std::size_t stream, std::span<float> gradients) = 0;
};

struct MoverOptions {
  // "host:port" or "unix:PATH".
  std::string address;
  // Payload of a message.
  std::size_t chunk_bytes = 0;
  // How many move at a time, all through one client.
  std::size_t streams = 1;
  // Nothing comes back but verdicts.
  bool check_only = false;
};

using MakeMover =
    absl::StatusOr<std::unique_ptr<Mover>>(const MoverOptions& options);

MakeMover MakeLibraryMover;
MakeMover MakeEchoMover;
MakeMover MakeKeptEchoMover;
MakeMover MakeSinkMover;
MakeMover MakePlainMover;

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_UNSCALE_MOVER_H_
