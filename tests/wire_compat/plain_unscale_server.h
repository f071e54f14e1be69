// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// PlainUnscaleServer: the Unscale stream as an ordinary gRPC user would serve
// it: from the proto, with generated stubs and messages, one element at a time.
//
// It trusts its clients and has no sessions: any name will do. On a free port
// of the loopback interface.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_SERVER_H_
#define LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/support/sync_stream.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"

namespace lossscaler::testing {

class PlainUnscaleServer {
 public:
  // With `later_version` it sends fields that are not in the proto yet.
  explicit PlainUnscaleServer(double scale, bool later_version = false);
  // Ends every open call.
  ~PlainUnscaleServer();

  const std::string& address() const { return address_; }

  // The `open` of every stream so far.
  std::vector<v1::UnscaleOpen> opens() const { return service_.opens(); }

 private:
  class Service : public v1::LossScalerService::Service {
   public:
    Service(double scale, bool later_version)
        : scale_(scale), later_version_(later_version) {}

    grpc::Status Unscale(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<v1::UnscaleResponse, v1::UnscaleRequest>*
            stream) override;

    std::vector<v1::UnscaleOpen> opens() const ABSL_LOCKS_EXCLUDED(mutex_);

   private:
    const double scale_;
    const bool later_version_;
    mutable Mutex mutex_;
    std::vector<v1::UnscaleOpen> opens_ ABSL_GUARDED_BY(mutex_);
  };

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_WIRE_COMPAT_PLAIN_UNSCALE_SERVER_H_
