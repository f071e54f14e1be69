// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// InProcessServer: the service on a real gRPC server on a free loopback port,
// over a store whose faults the test chooses.

#ifndef LOSSSCALER_TESTS_TESTING_IN_PROCESS_SERVER_H_
#define LOSSSCALER_TESTS_TESTING_IN_PROCESS_SERVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "ops/call_gate.h"
#include "rpc/service.h"
#include "sessions/limits.h"
#include "sessions/registry.h"
#include "store/memory_store.h"
#include "testing/call_status.h"
#include "testing/faulty_store.h"

namespace lossscaler::testing {

// The error that a peer meant, with its reason.
// Waits for what another thread is about to do; false after ten seconds.
inline bool Await(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class InProcessServer {
 public:
  explicit InProcessServer(const server::Limits& limits = {})
      : gate_(limits),
        admission_(limits),
        watchers_(limits.max_watch_streams),
        registry_(&store_, limits),
        service_(server::MakeLossScalerService({.registry = &registry_,
                                                .store = &store_,
                                                .gate = &gate_,
                                                .admission = &admission_,
                                                .watchers = &watchers_,
                                                .reception = &reception_,
                                                .limits = limits,
                                                .version = "test"})) {
    EXPECT_TRUE(registry_.Load().ok());
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }

  ~InProcessServer() {
    store_.Release();
    Shutdown();
  }

  // Ends every open call.
  void Shutdown() { server_->Shutdown(std::chrono::system_clock::now()); }

  // Shuts down on another thread, for calls that wait for something else.
  std::thread ShutdownInBackground() {
    return std::thread([this] { Shutdown(); });
  }

  std::unique_ptr<v1::LossScalerService::Stub> NewStub() const {
    return v1::LossScalerService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }

  const std::string& address() const { return address_; }
  FaultyStore& store() { return store_; }
  server::CallGate& gate() { return gate_; }
  server::Registry& registry() { return registry_; }

 private:
  server::MemoryStore memory_;
  FaultyStore store_{&memory_};
  server::CallGate gate_;
  server::StreamAdmission admission_;
  server::ByteBudget watchers_;
  server::Reception reception_;
  server::Registry registry_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_IN_PROCESS_SERVER_H_
