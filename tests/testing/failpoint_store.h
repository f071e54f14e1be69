// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FailpointStore: a store that kills its process at a named moment of a named
// write, and otherwise leaves everything to another store.
//
//   before_step:7   the decision of step 7 has not been written
//   after_step:7    it has been written, and nobody has been told
//
// A failpoint lies here rather than in the server, so that no server that
// anybody installs has one.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_TESTS_TESTING_FAILPOINT_STORE_H_
#define LOSSSCALER_TESTS_TESTING_FAILPOINT_STORE_H_

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "store/forwarding_store.h"
#include "store/store.h"

namespace lossscaler::testing {

struct Failpoint {
  enum class Place { kBeforeWrite, kAfterWrite };
  Place place = Place::kBeforeWrite;
  std::int64_t step = 0;

  // nullopt: no failpoint has this name.
  static std::optional<Failpoint> Parse(std::string_view name) {
    Failpoint parsed;
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view place = name.substr(0, colon);
    const std::string_view step = name.substr(colon + 1);
    if (place == "before_step") {
      parsed.place = Place::kBeforeWrite;
    } else if (place == "after_step") {
      parsed.place = Place::kAfterWrite;
    } else {
      return std::nullopt;
    }
    if (!absl::SimpleAtoi(absl::string_view(step.data(), step.size()),
                          &parsed.step)) {
      return std::nullopt;
    }
    return parsed;
  }
};

class FailpointStore final : public server::ForwardingStore {
 public:
  FailpointStore(std::unique_ptr<server::Store> inner,
                 const Failpoint& failpoint)
      : ForwardingStore(std::move(inner)), failpoint_(failpoint) {}

  void Commit(server::Write write, Done done) override {
    const bool meant =
        write.decision && write.decision->step == failpoint_.step;
    if (meant && failpoint_.place == Failpoint::Place::kBeforeWrite) Die();
    if (meant) {
      done = [](server::WriteResult, const absl::Status&) { Die(); };
    }
    ForwardingStore::Commit(std::move(write), std::move(done));
  }

 private:
  [[noreturn]] static void Die() {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }

  const Failpoint failpoint_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_FAILPOINT_STORE_H_
