// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A client of the Unscale stream as an ordinary gRPC user would write it: from
// the proto, with generated stubs and messages.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_CLIENT_H_
#define LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_CLIENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"

namespace lossscaler::testing {

// A run of elements on its way: the request of one chunk.
struct PlainStream {
  v1::UnscaleOpen open;
  std::vector<v1::UnscaleChunk> chunks;
  // Sends fields that are not in the proto yet.
  bool later_version = false;
};

// What came back, as it came.
struct PlainAnswers {
  v1::UnscaleOpened opened;
  std::vector<v1::UnscaledChunk> chunks;
  v1::UnscaleSummary summary;
  // Messages in another order than the proto says.
  int misplaced = 0;
  grpc::Status status;
};

// One stream from its open to its end. Chunks are written on another thread
// while answers are read, as the proto asks.
PlainAnswers RunPlainStream(v1::LossScalerService::Stub* stub,
                            const PlainStream& stream);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_CLIENT_H_
