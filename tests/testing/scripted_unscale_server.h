// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ScriptedUnscaleServer: a gRPC server in this process, mostly without a port,
// whose Unscale streams do what a test wants.

#ifndef LOSSSCALER_TESTS_TESTING_SCRIPTED_UNSCALE_SERVER_H_
#define LOSSSCALER_TESTS_TESTING_SCRIPTED_UNSCALE_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "grpcpp/grpcpp.h"
#include "lossscaler/core/unscale.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "lossscaler/wire/convert.h"

namespace lossscaler::testing {

using UnscaleServerStream =
    grpc::ServerReaderWriter<v1::UnscaleResponse, v1::UnscaleRequest>;

// What one stream does after its `open` was read.
using UnscaleScript = std::function<grpc::Status(
    grpc::ServerContext*, const v1::UnscaleOpen&, UnscaleServerStream*)>;

// Answers honestly at `scale`. After `answers` chunks it ends the stream with
// `broken`; a negative number: with the summary.
inline UnscaleScript Honest(double scale, int answers = -1,
                            grpc::Status broken = grpc::Status::OK) {
  return [scale, answers, broken](grpc::ServerContext*,
                                  const v1::UnscaleOpen& open,
                                  UnscaleServerStream* stream) {
    v1::UnscaleResponse response;
    response.mutable_opened()->set_scale(scale);
    response.mutable_opened()->set_step(open.has_step() ? open.step() : 1);
    response.mutable_opened()->set_epoch(1);
    response.mutable_opened()->set_max_chunk_bytes(1 << 20);
    stream->Write(response);
    const bool statistics = !open.skip_statistics();
    UnscaleVerdict total;
    v1::UnscaleRequest request;
    for (int left = answers; left != 0 && stream->Read(&request); --left) {
      const v1::UnscaleChunk& chunk = request.chunk();
      const ElementType type = wire::ElementTypeFromProto(
                                   open.tensors(chunk.tensor()).type(), "type")
                                   .value();
      const ElementType output =
          open.output_type() == v1::OUTPUT_TYPE_SAME ? type : WideType(type);
      const std::size_t count = chunk.data().size() / ElementSize(type);
      const bool returns = open.mode() != v1::UNSCALE_MODE_CHECK_ONLY;
      std::string data(returns ? count * ElementSize(output) : 0, '\0');
      const UnscaleVerdict verdict =
          Unscale(type, chunk.data().data(), count, output,
                  returns ? data.data() : nullptr,
                  static_cast<std::uint64_t>(chunk.offset()),
                  {.scale = scale, .statistics = statistics});
      total.Merge(verdict);
      v1::UnscaledChunk* answer = response.mutable_chunk();
      answer->Clear();
      answer->set_tensor(chunk.tensor());
      answer->set_offset(chunk.offset());
      wire::ToProto(verdict, statistics, answer->mutable_verdict());
      answer->set_data(std::move(data));
      stream->Write(response);
      if (left == 1) return broken;
    }
    if (answers == 0) return broken;
    wire::ToProto(total, statistics,
                  response.mutable_summary()->mutable_verdict());
    response.mutable_summary()->mutable_verdict()->clear_first_bad_index();
    response.mutable_summary()->set_element_count(
        static_cast<std::int64_t>(total.element_count));
    stream->Write(response);
    return grpc::Status::OK;
  };
}

// Opens nothing, answers nothing, and waits until the client gives up.
inline UnscaleScript Silent() {
  return [](grpc::ServerContext*, const v1::UnscaleOpen&,
            UnscaleServerStream* stream) {
    v1::UnscaleRequest request;
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  };
}

class ScriptedUnscaleServer {
 public:
  // Stream n follows script n; further ones are honest at scale 1.
  // `address` is one to listen at besides.
  explicit ScriptedUnscaleServer(std::vector<UnscaleScript> scripts,
                                 const std::string& address = "")
      : service_(std::move(scripts)) {
    grpc::ServerBuilder builder;
    if (!address.empty()) {
      builder.AddListeningPort(address, grpc::InsecureServerCredentials(),
                               &port_);
    }
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedUnscaleServer() { server_->Shutdown(); }

  std::shared_ptr<grpc::Channel> Channel() {
    return server_->InProcessChannel({});
  }

  // The `open` of every stream so far.
  std::vector<v1::UnscaleOpen> opens() const { return service_.opens(); }
  // Where each stream came from.
  std::vector<std::string> peers() const { return service_.peers(); }
  // Of a TCP address.
  int port() const { return port_; }

 private:
  class Service : public v1::LossScalerService::Service {
   public:
    explicit Service(std::vector<UnscaleScript> scripts)
        : scripts_(std::move(scripts)) {}

    grpc::Status Unscale(grpc::ServerContext* context,
                         UnscaleServerStream* stream) override {
      v1::UnscaleRequest request;
      if (!stream->Read(&request)) return grpc::Status::CANCELLED;
      std::size_t number;
      {
        MutexLock lock(&mutex_);
        number = opens_.size();
        opens_.push_back(request.open());
        peers_.push_back(context->peer());
      }
      const UnscaleScript script =
          number < scripts_.size() ? scripts_[number] : Honest(1);
      return script(context, request.open(), stream);
    }

    std::vector<v1::UnscaleOpen> opens() const {
      MutexLock lock(&mutex_);
      return opens_;
    }
    std::vector<std::string> peers() const {
      MutexLock lock(&mutex_);
      return peers_;
    }

   private:
    const std::vector<UnscaleScript> scripts_;
    mutable Mutex mutex_;
    std::vector<v1::UnscaleOpen> opens_ ABSL_GUARDED_BY(mutex_);
    std::vector<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  };

  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_SCRIPTED_UNSCALE_SERVER_H_
