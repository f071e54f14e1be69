// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/process/transport.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {
namespace {

struct Place {
  std::string folder;
  std::string address;
  std::string ready_file;
};

Place NewPlace(Transport transport, const std::string& directory,
               std::string_view name) {
  Place place;
  // A server that is started again finds nothing of the one before it.
  place.folder = absl::StrCat(directory, "/", std::string(name), "-",
                              std::string(TransportName(transport)));
  std::filesystem::remove_all(place.folder);
  std::filesystem::create_directories(place.folder);
  place.address = transport == Transport::kTcp
                      ? "127.0.0.1:0"
                      : absl::StrCat("unix:", place.folder, "/socket");
  place.ready_file = place.folder + "/ready";
  return place;
}

}  // namespace

std::string_view TransportName(Transport transport) {
  return transport == Transport::kTcp ? "tcp" : "unix";
}

absl::StatusOr<Server> StartOn(Transport transport,
                               const std::string& directory,
                               std::string_view name,
                               std::vector<std::string> command) {
  const Place place = NewPlace(transport, directory, name);
  command.insert(command.end(), {place.address, place.ready_file});
  return StartServer(place.folder, std::move(command), place.ready_file);
}

absl::StatusOr<Server> StartLossscalerdOn(
    Transport transport, const std::string& directory,
    const std::string& lossscalerd, std::string_view durability,
    const std::vector<std::string>& more) {
  const Place place =
      NewPlace(transport, directory,
               absl::StrCat("lossscalerd-", std::string(durability)));
  std::vector<std::string> command = {
      lossscalerd,      "--listen",        place.address, "--ready-file",
      place.ready_file, "--admin-listen=", "--store"};
  if (durability == "memory") {
    command.emplace_back(durability);
  } else {
    command.insert(command.end(), {absl::StrCat("sqlite:", place.folder),
                                   "--durability", std::string(durability)});
  }
  command.insert(command.end(), more.begin(), more.end());
  return StartServer(place.folder, std::move(command), place.ready_file);
}

}  // namespace lossscaler::bench
