// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/group/model_shelf.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "fault/group/mixed.h"
#include "testing/read_file.h"

namespace lossscaler::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kNewest[] = "newest";
constexpr char kToken[] = "token";

std::string CheckpointKind(std::int64_t step) {
  return absl::StrCat("checkpoint-", step);
}

std::optional<Model> ReadModel(const std::string& path) {
  const std::string bytes = ReadFile(path);
  Model model;
  if (bytes.empty() || !model.ParseFromString(bytes)) return std::nullopt;
  return model;
}

}  // namespace

ModelShelf::ModelShelf(std::string directory)
    : directory_(std::move(directory)) {}

void ModelShelf::Put(const std::string& worker, const Model& model) const {
  Write(Path(kNewest, worker), model.SerializeAsString());
}

std::optional<Model> ModelShelf::Find(const Base& base) const {
  for (const auto& entry : fs::directory_iterator(directory_)) {
    if (entry.path().stem() != kNewest) continue;
    std::optional<Model> model = ReadModel(entry.path());
    if (model && Base{.session_uid = model->base().session_uid(),
                      .step = model->base().step()} == base) {
      return model;
    }
  }
  return std::nullopt;
}

void ModelShelf::PutCheckpoint(const std::string& worker, std::int64_t step,
                               const Model& model) const {
  Write(Path(CheckpointKind(step), worker), model.SerializeAsString());
}

std::int64_t ModelShelf::LastCheckpoint(int workers) const {
  std::map<std::int64_t, int> holders;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    const std::string kind = entry.path().stem();
    std::int64_t step = 0;
    if (kind.starts_with("checkpoint-") &&
        absl::SimpleAtoi(kind.substr(kind.find('-') + 1), &step)) {
      ++holders[step];
    }
  }
  std::int64_t last = 0;
  for (const auto& [step, count] : holders) {
    if (count >= workers) last = step;
  }
  return last;
}

std::optional<Model> ModelShelf::Checkpoint(const std::string& worker,
                                            std::int64_t step) const {
  return ReadModel(Path(CheckpointKind(step), worker));
}

void ModelShelf::PutToken(const std::string& worker,
                          const std::string& token) const {
  Write(Path(kToken, worker), token);
}

std::string ModelShelf::Token(const std::string& worker) const {
  return ReadFile(Path(kToken, worker));
}

std::string ModelShelf::Path(const std::string& kind,
                             const std::string& worker) const {
  return absl::StrCat(directory_, "/", kind, ".", worker);
}

void ModelShelf::Write(const std::string& path,
                       const std::string& bytes) const {
  // Its stem is nobody's kind.
  const std::string draft =
      absl::StrCat(directory_, "/draft-", fs::path(path).filename().string());
  {
    std::ofstream stream(draft, std::ios::binary | std::ios::trunc);
    stream << bytes;
    if (!stream.flush()) std::abort();
  }
  fs::rename(draft, path);
}

Model Trained(Model model, const Base& after) {
  model.set_digest(
      Mixed(model.digest(), static_cast<std::uint64_t>(after.step)));
  model.mutable_base()->set_session_uid(after.session_uid);
  model.mutable_base()->set_step(after.step);
  return model;
}

}  // namespace lossscaler::testing
