// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/reflection.h"

#include <string_view>
#include <vector>

#include "grpcpp/ext/proto_server_reflection_plugin.h"

namespace lossscaler::server {
namespace {

constexpr std::string_view kPlugin = "proto_server_reflection";

class Option : public grpc::ServerBuilderOption {
 public:
  explicit Option(bool enabled) : enabled_(enabled) {
    // Repeating it is free. The linker may drop a library nobody calls, and
    // with it what the library does on its own.
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }

  void UpdateArguments(grpc::ChannelArguments*) override {}

  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*
                         plugins) override {
    if (enabled_) return;
    std::erase_if(*plugins,
                  [](const auto& plugin) { return plugin->name() == kPlugin; });
  }

 private:
  const bool enabled_;
};

}  // namespace

std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption(bool enabled) {
  return std::make_unique<Option>(enabled);
}

}  // namespace lossscaler::server
