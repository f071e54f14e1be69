// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/saved_shard.h"

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace lossscaler::sharded {

absl::Status Save(const std::string& path, const SavedShard& saved) {
  const std::string unfinished = path + ".part";
  Shard shard = saved.shard;
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file << saved.session << '\n';
    for (const std::span<std::byte> part : PartsOf(shard)) {
      file.write(reinterpret_cast<const char*>(part.data()),
                 static_cast<std::streamsize>(part.size()));
    }
    file.flush();
    if (!file) {
      return absl::UnavailableError(absl::StrCat("cannot write ", unfinished));
    }
  }
  if (std::rename(unfinished.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("cannot write ", path));
}

absl::StatusOr<SavedShard> LoadSavedShard(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  SavedShard saved;
  std::getline(file, saved.session);
  saved.shard = Shard::Untrained(
      Eigen::VectorXf::Zero(static_cast<Eigen::Index>(ShardSize())));
  for (const std::span<std::byte> part : PartsOf(saved.shard)) {
    file.read(reinterpret_cast<char*>(part.data()),
              static_cast<std::streamsize>(part.size()));
  }
  if (file) return saved;
  return absl::DataLossError(absl::StrCat(path, " is no checkpoint"));
}

}  // namespace lossscaler::sharded
