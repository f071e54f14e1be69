// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/unscale/mover.h"
#include "lossscaler/client/client.h"

namespace lossscaler::bench {
namespace {

class LibraryMover : public Mover {
 public:
  LibraryMover(std::vector<Session> sessions, bool check_only)
      : sessions_(std::move(sessions)), check_only_(check_only) {}

  absl::Status Move(std::size_t stream, std::span<float> gradients) override {
    Step step = sessions_[stream].BeginStep();
    const GradientTensor tensor =
        check_only_ ? CheckOnly("gradients", std::span<const float>(gradients))
                    : InPlace("gradients", gradients);
    const absl::StatusOr<UnscaleResult> found = step.Unscale({&tensor, 1});
    if (!found.ok()) return found.status();
    if (found->scale != double{kScale} || !(found->norm() > 0)) {
      return absl::InternalError("the gradients were not unscaled");
    }
    const absl::StatusOr<Decision> decision = step.Update();
    if (!decision.ok()) return decision.status();
    if (decision->apply()) return absl::OkStatus();
    return absl::InternalError("a step of finite gradients was not applied");
  }

 private:
  std::vector<Session> sessions_;
  const bool check_only_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Mover>> MakeLibraryMover(
    const MoverOptions& options) {
  const absl::StatusOr<LossScaler> scaler = LossScaler::Static(kScale);
  if (!scaler.ok()) return scaler.status();
  // A server that does not answer ends the run soon.
  Client client({.address = options.address,
                 .unavailable_budget = absl::Seconds(10),
                 .chunk_bytes = options.chunk_bytes});
  std::vector<Session> sessions;
  for (std::size_t i = 0; i < options.streams; ++i) {
    absl::StatusOr<Session> session =
        client.OpenSession(absl::StrCat("bench/", i), *scaler);
    if (!session.ok()) return session.status();
    sessions.push_back(*std::move(session));
  }
  return std::make_unique<LibraryMover>(std::move(sessions),
                                        options.check_only);
}

}  // namespace lossscaler::bench
