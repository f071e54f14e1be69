// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// RawUnscaleCall: one Unscale stream whose messages are bytes of the test's
// making, one operation at a time.

#ifndef LOSSSCALER_TESTS_TESTING_RAW_UNSCALE_CALL_H_
#define LOSSSCALER_TESTS_TESTING_RAW_UNSCALE_CALL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "testing/in_process_server.h"

namespace lossscaler::testing {

class RawUnscaleCall {
 public:
  explicit RawUnscaleCall(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(channel),
        call_(stub_.PrepareCall(
            &context_, "/lossscaler.v1.LossScalerService/Unscale", &queue_)) {
    call_->StartCall(this);
    Done();
  }
  // Without Finish() the call is cancelled.
  ~RawUnscaleCall() {
    if (!finished_) {
      context_.TryCancel();
      Finish().IgnoreError();
    }
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  RawUnscaleCall(const RawUnscaleCall&) = delete;
  RawUnscaleCall& operator=(const RawUnscaleCall&) = delete;

  // Writing to a call that has ended does nothing; Finish() says why.
  void Write(const std::vector<grpc::Slice>& slices) {
    call_->Write(grpc::ByteBuffer(slices.data(), slices.size()), this);
    Done();
  }
  void Write(const std::string& message) {
    Write(std::vector<grpc::Slice>{grpc::Slice(message)});
  }
  void HalfClose() {
    call_->WritesDone(this);
    Done();
  }
  void Cancel() { context_.TryCancel(); }

  // The next message; empty if the call has ended.
  std::string Read() {
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, this);
    std::string message;
    if (!Done()) return message;
    std::vector<grpc::Slice> slices;
    if (!buffer.Dump(&slices).ok()) return message;
    for (const grpc::Slice& slice : slices) {
      message.append(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
    }
    return message;
  }

  // Reads what is left and returns how the call ended.
  absl::Status Finish() {
    while (!Read().empty()) {
    }
    grpc::Status status;
    call_->Finish(&status, this);
    Done();
    finished_ = true;
    return ToAbsl(status);
  }

 private:
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool finished_ = false;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_RAW_UNSCALE_CALL_H_
