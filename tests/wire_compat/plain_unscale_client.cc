// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "wire_compat/plain_unscale_client.h"

#include <thread>

#include "grpcpp/client_context.h"
#include "wire_compat/plain_unscale.h"

namespace lossscaler::testing {

PlainAnswers RunPlainStream(v1::LossScalerService::Stub* stub,
                            const PlainStream& stream) {
  grpc::ClientContext context;
  const auto call = stub->Unscale(&context);
  const auto send = [&](v1::UnscaleRequest request) {
    if (stream.later_version) AddUnknownFields(&request);
    return call->Write(request);
  };
  v1::UnscaleRequest open;
  *open.mutable_open() = stream.open;
  send(open);

  PlainAnswers answers;
  v1::UnscaleResponse response;
  if (!call->Read(&response) || !response.has_opened()) {
    answers.status = call->Finish();
    return answers;
  }
  answers.opened = response.opened();
  std::thread writer([&] {
    for (const v1::UnscaleChunk& chunk : stream.chunks) {
      v1::UnscaleRequest request;
      *request.mutable_chunk() = chunk;
      if (!send(request)) return;
    }
    call->WritesDone();
  });
  bool summarized = false;
  while (call->Read(&response)) {
    if (response.has_chunk() && !summarized) {
      answers.chunks.push_back(response.chunk());
    } else if (response.has_summary() && !summarized) {
      summarized = true;
      answers.summary = response.summary();
    } else {
      ++answers.misplaced;
    }
  }
  writer.join();
  answers.status = call->Finish();
  if (!summarized) ++answers.misplaced;
  return answers;
}

}  // namespace lossscaler::testing
