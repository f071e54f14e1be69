// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/unscale/contestants.h"

#include <vector>

namespace lossscaler::bench {

absl::StatusOr<Servers> Servers::Start(const std::string& lossscalerd,
                                       const std::string& directory) {
  const std::pair<std::string_view, std::vector<std::string>> floors[] = {
      {kEcho, {Beside("floor_server"), "echo"}},
      {kSink, {Beside("floor_server"), "sink"}},
      {kPlain, {Beside("plain_server")}},
  };
  Servers servers;
  for (const Transport transport : kTransports) {
    absl::StatusOr<Server> ours =
        StartLossscalerdOn(transport, directory, lossscalerd, "memory");
    if (!ours.ok()) return ours.status();
    servers.servers_.emplace(std::pair(std::string(kLibrary), transport),
                             *std::move(ours));
    for (const auto& [name, command] : floors) {
      absl::StatusOr<Server> floor =
          StartOn(transport, directory, name, command);
      if (!floor.ok()) return floor.status();
      servers.servers_.emplace(std::pair(std::string(name), transport),
                               *std::move(floor));
    }
  }
  return servers;
}

const Server& Servers::Of(std::string_view recipe, Transport transport) const {
  // Who keeps what comes back is no business of the server.
  if (recipe == kKeptEcho) recipe = kEcho;
  return servers_.at({std::string(recipe), transport});
}

}  // namespace lossscaler::bench
