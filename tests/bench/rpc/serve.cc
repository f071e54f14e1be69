// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/rpc/serve.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "grpcpp/server.h"

namespace lossscaler::bench {

int Serve(grpc::ServerBuilder* builder, const std::string& address,
          const std::string& ready_file) {
  int port = 0;
  builder->AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> server = builder->BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "cannot listen on %s\n", address.c_str());
    return 1;
  }
  // Whoever waits for the file finds it complete.
  const std::string unfinished = ready_file + ".new";
  if (address.starts_with("unix:")) {
    std::ofstream(unfinished) << address << "\n";
  } else {
    std::ofstream(unfinished)
        << address.substr(0, address.rfind(':') + 1) << port << "\n";
  }
  std::filesystem::rename(unfinished, ready_file);
  server->Wait();
  return 0;
}

}  // namespace lossscaler::bench
