// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/coordination/contestants.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {

absl::StatusOr<Contestants> Contestants::Start(const std::string& lossscalerd,
                                               const std::string& directory) {
  Contestants contestants(directory);
  for (const char* const durability : {"memory", "relaxed", "full"}) {
    if (absl::Status status = contestants.StartOurs(lossscalerd, durability);
        !status.ok()) {
      return status;
    }
  }
  if (const std::optional<std::string> redis = OnPath("redis-server")) {
    contestants.has_redis_ = true;
    if (absl::Status status = contestants.StartRedis(*redis, kRedis, "no");
        !status.ok()) {
      return status;
    }
    if (absl::Status status =
            contestants.StartRedis(*redis, kRedisAlways, "yes");
        !status.ok()) {
      return status;
    }
  }
  contestants.lasting_.push_back({.name = std::string(kGloo),
                                  .recipe = "gloo",
                                  .address = contestants.Folder("gloo")});
  return contestants;
}

std::string Contestants::Folder(std::string_view name) const {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '/', '-');
  std::string folder = absl::StrCat(directory_, "/", plain);
  std::filesystem::create_directories(folder);
  return folder;
}

absl::Status Contestants::StartOurs(const std::string& lossscalerd,
                                    const std::string& durability) {
  const std::string folder = Folder(durability);
  const std::string ready = folder + "/ready";
  std::vector<std::string> command = {
      lossscalerd,
      "--listen",
      absl::StrCat("unix:", folder, "/socket"),
      "--listen",
      "127.0.0.1:0",
      "--ready-file",
      ready,
      "--admin-listen=",
      "--store",
      durability == "memory" ? durability : absl::StrCat("sqlite:", folder)};
  if (durability != "memory") {
    command.insert(command.end(), {"--durability", durability});
  }
  absl::StatusOr<Server> server =
      StartServer(folder, std::move(command), ready);
  if (!server.ok()) return server.status();
  for (const std::string& address : server->addresses) {
    const bool local = address.starts_with("unix:");
    lasting_.push_back({.name = durability + (local ? "/unix" : "/tcp"),
                        .recipe = "library",
                        .address = address});
    if (local && durability == "memory") {
      lasting_.push_back({.name = durability + "/unix/stream",
                          .recipe = "stream",
                          .address = address});
    }
  }
  servers_.push_back(*std::move(server));
  return absl::OkStatus();
}

absl::Status Contestants::StartRedis(const std::string& program,
                                     std::string_view name,
                                     const std::string& appendonly) {
  const std::string folder = Folder(name);
  const std::string socket = folder + "/socket";
  absl::StatusOr<Server> server = StartUnixServer(
      folder,
      {program, "--port", "0", "--unixsocket", socket, "--dir", folder,
       "--save", "", "--appendonly", appendonly, "--appendfsync", "always"},
      socket);
  if (!server.ok()) return server.status();
  lasting_.push_back(
      {.name = std::string(name), .recipe = "redis", .address = socket});
  servers_.push_back(*std::move(server));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Contestant>> Contestants::Of(int workers) {
  const std::string folder = Folder(absl::StrCat("bare-", workers));
  const std::string ready = folder + "/ready";
  absl::StatusOr<Server> bare = StartServer(
      folder, {Beside("bare_vote_server"), ready, absl::StrCat(workers)},
      ready);
  if (!bare.ok()) return bare.status();
  bare_ = *std::move(bare);
  std::vector<Contestant> all = {{.name = std::string(kBare),
                                  .recipe = "bare",
                                  .address = bare_.addresses.front()}};
  all.insert(all.end(), lasting_.begin(), lasting_.end());
  return all;
}

}  // namespace lossscaler::bench
