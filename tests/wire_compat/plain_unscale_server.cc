// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "wire_compat/plain_unscale_server.h"

#include <chrono>
#include <cstdint>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "wire_compat/plain_unscale.h"

namespace lossscaler::testing {
namespace {

constexpr std::int64_t kMaxChunkBytes = 1 << 20;
constexpr int kMaxBadTensors = 64;

// Once more, or for the first time if there is room.
void List(const v1::BadTensor& tensor, v1::UnscaleSummary* summary) {
  const int listed = summary->bad_tensors_size();
  if (listed > 0 &&
      summary->bad_tensors(listed - 1).tensor() == tensor.tensor()) {
    *summary->mutable_bad_tensors(listed - 1) = tensor;
  } else if (listed < kMaxBadTensors) {
    *summary->add_bad_tensors() = tensor;
  }
}

}  // namespace

PlainUnscaleServer::PlainUnscaleServer(double scale, bool later_version)
    : service_(scale, later_version) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

PlainUnscaleServer::~PlainUnscaleServer() {
  server_->Shutdown(std::chrono::system_clock::now());
}

grpc::Status PlainUnscaleServer::Service::Unscale(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<v1::UnscaleResponse, v1::UnscaleRequest>* stream) {
  const auto send = [&](v1::UnscaleResponse response) {
    if (later_version_) AddUnknownFields(&response);
    return stream->Write(response);
  };
  v1::UnscaleRequest request;
  if (!stream->Read(&request)) return grpc::Status::CANCELLED;
  const v1::UnscaleOpen open = request.open();
  {
    MutexLock lock(&mutex_);
    opens_.push_back(open);
  }
  v1::UnscaleResponse opened;
  opened.mutable_opened()->set_scale(scale_);
  opened.mutable_opened()->set_step(open.has_step() ? open.step() : 1);
  opened.mutable_opened()->set_epoch(1);
  opened.mutable_opened()->set_max_chunk_bytes(kMaxChunkBytes);
  send(opened);

  const PlainRules rules = PlainRules::Of(open, scale_);
  v1::UnscaleResponse last;
  v1::UnscaleSummary& summary = *last.mutable_summary();
  summary.mutable_verdict()->set_overflow(false);
  std::int64_t element_count = 0;
  // What was found in the tensor that is being sent.
  v1::BadTensor tensor;
  while (stream->Read(&request)) {
    const v1::UnscaleChunk& chunk = request.chunk();
    const ElementType type = PlainType(open.tensors(chunk.tensor()).type());
    const std::vector<Bits> elements = UnpackString(type, chunk.data());
    const PlainResult result =
        PlainUnscale(rules, type, elements, chunk.offset());
    v1::UnscaleResponse answer;
    answer.mutable_chunk()->set_tensor(chunk.tensor());
    answer.mutable_chunk()->set_offset(chunk.offset());
    *answer.mutable_chunk()->mutable_verdict() = result.verdict;
    if (!rules.check_only) {
      answer.mutable_chunk()->set_data(
          PackToString(rules.OutputType(type), result.elements));
    }
    element_count += static_cast<std::int64_t>(elements.size());
    AddVerdict(result.verdict, summary.mutable_verdict());
    if (chunk.tensor() != tensor.tensor()) tensor.Clear();
    tensor.set_tensor(chunk.tensor());
    AddVerdict(result.verdict, tensor.mutable_verdict());
    if (tensor.verdict().overflow()) List(tensor, &summary);
    if (!send(answer)) return grpc::Status::CANCELLED;
  }
  summary.mutable_verdict()->clear_first_bad_index();
  if (rules.statistics && element_count == 0) {
    summary.mutable_verdict()->set_sum_of_squares(0);
    summary.mutable_verdict()->set_absolute_maximum(0);
  }
  summary.set_element_count(element_count);
  send(last);
  return grpc::Status::OK;
}

std::vector<v1::UnscaleOpen> PlainUnscaleServer::Service::opens() const {
  MutexLock lock(&mutex_);
  return opens_;
}

}  // namespace lossscaler::testing
