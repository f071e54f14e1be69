// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/calls/contestants.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {

absl::StatusOr<Contestants> Contestants::Start(Transport transport,
                                               const std::string& lossscalerd,
                                               const std::string& directory) {
  Contestants contestants;
  if (absl::Status status = contestants.Add(
          StartOn(transport, directory, kPing, {Beside("ping_server")}),
          {{.name = std::string(kPing), .recipe = std::string(kPing)}});
      !status.ok()) {
    return status;
  }
  for (const std::string_view durability : {"memory", "relaxed", "full"}) {
    std::vector<Contestant> calls;
    // Next to the ping in every round.
    if (durability == "memory") {
      calls.push_back(
          {.name = std::string(kScaleLoss), .recipe = std::string(kScaleLoss)});
    }
    calls.push_back({.name = absl::StrCat("update/", std::string(durability)),
                     .recipe = "update",
                     .slow = durability != "memory"});
    if (absl::Status status = contestants.Add(
            StartLossscalerdOn(transport, directory, lossscalerd, durability),
            calls);
        !status.ok()) {
      return status;
    }
  }
  return contestants;
}

absl::Status Contestants::Add(absl::StatusOr<Server> server,
                              const std::vector<Contestant>& calls) {
  if (!server.ok()) return server.status();
  for (Contestant call : calls) {
    call.address = server->addresses.front();
    call.server = server->process->pid();
    all_.push_back(std::move(call));
  }
  servers_.push_back(*std::move(server));
  return absl::OkStatus();
}

}  // namespace lossscaler::bench
