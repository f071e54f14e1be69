// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ModelShelf: a folder where the workers of a simulated job keep their models,
// each its newest and its checkpoints, and from where they take a peer's.
//
// A model appears there whole or not at all.
//
// Thread safety: any thread and process; one for each worker's models.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_MODEL_SHELF_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_MODEL_SHELF_H_

#include <cstdint>
#include <optional>
#include <string>

#include "fault/group/observation.pb.h"
#include "lossscaler/core/group.h"

namespace lossscaler::testing {

class ModelShelf {
 public:
  // `directory` is there.
  explicit ModelShelf(std::string directory);

  void Put(const std::string& worker, const Model& model) const;
  // Anybody's newest, if it contains exactly `base`.
  std::optional<Model> Find(const Base& base) const;

  void PutCheckpoint(const std::string& worker, std::int64_t step,
                     const Model& model) const;
  // The last step of which `workers` workers have one; 0: none.
  std::int64_t LastCheckpoint(int workers) const;
  std::optional<Model> Checkpoint(const std::string& worker,
                                  std::int64_t step) const;

  // What lets the worker's next process take over from this one.
  void PutToken(const std::string& worker, const std::string& token) const;
  std::string Token(const std::string& worker) const;

 private:
  std::string Path(const std::string& kind, const std::string& worker) const;
  void Write(const std::string& path, const std::string& bytes) const;

  const std::string directory_;
};

// The model after it has applied one more step.
Model Trained(Model model, const Base& after);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_MODEL_SHELF_H_
