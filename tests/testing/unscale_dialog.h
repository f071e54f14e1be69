// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// UnscaleDialog: one Unscale stream, message by message, for tests.

#ifndef LOSSSCALER_TESTS_TESTING_UNSCALE_DIALOG_H_
#define LOSSSCALER_TESTS_TESTING_UNSCALE_DIALOG_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/in_process_server.h"

namespace lossscaler::testing {

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

template <typename T>
std::vector<T> ValuesOf(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

class UnscaleDialog {
 public:
  explicit UnscaleDialog(v1::LossScalerService::Stub* stub)
      : stream_(stub->Unscale(&context_)) {}

  // An open of session "run" with one float32 tensor "w".
  static v1::UnscaleOpen OpenFor(const std::string& stream_id,
                                 std::int64_t element_count) {
    v1::UnscaleOpen open;
    open.set_session("run");
    open.set_stream_id(stream_id);
    v1::TensorSpec* tensor = open.add_tensors();
    tensor->set_name("w");
    tensor->set_type(v1::ELEMENT_TYPE_FLOAT32);
    tensor->set_element_count(element_count);
    return open;
  }

  // Writing to a call that has ended does nothing; Finish() says why.
  void Open(const v1::UnscaleOpen& open) {
    v1::UnscaleRequest request;
    *request.mutable_open() = open;
    stream_->Write(request);
  }
  void Chunk(int tensor, std::int64_t offset, const std::string& data) {
    v1::UnscaleRequest request;
    request.mutable_chunk()->set_tensor(tensor);
    request.mutable_chunk()->set_offset(offset);
    request.mutable_chunk()->set_data(data);
    stream_->Write(request);
  }
  void Empty() { stream_->Write(v1::UnscaleRequest()); }
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }

  // The next message; nothing set if the call has ended.
  v1::UnscaleResponse Read() {
    v1::UnscaleResponse response;
    if (!stream_->Read(&response)) response.Clear();
    return response;
  }

  // Reads what is left and returns how the call ended.
  absl::Status Finish() {
    v1::UnscaleResponse response;
    while (stream_->Read(&response)) {
    }
    return ToAbsl(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::UnscaleRequest, v1::UnscaleResponse>>
      stream_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_UNSCALE_DIALOG_H_
