// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <exception>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/coordination/voter.h"
#include "gloo/allreduce.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/file_store.h"
#include "gloo/rendezvous/prefix_store.h"
#include "gloo/transport/tcp/device.h"

namespace lossscaler::bench {
namespace {

absl::Status GlooError(const std::exception& error) {
  return absl::UnavailableError(
      absl::StrCat("gloo: ", std::string(error.what())));
}

class GlooVoter : public Voter {
 public:
  explicit GlooVoter(const VoterOptions& options)
      : context_(std::make_shared<gloo::rendezvous::Context>(options.rank,
                                                             options.workers)),
        files_(options.address),
        store_(options.session, files_) {
    auto device = gloo::transport::tcp::CreateDevice(
        gloo::transport::tcp::attr("127.0.0.1"));
    context_->connectFullMesh(store_, device);
  }

  absl::Status Vote() override {
    float overflow = 0;
    gloo::AllreduceOptions options(context_);
    options.setOutput(&overflow, 1);
    options.setReduceFunction(
        [](void* out, const void* a, const void* b, std::size_t count) {
          gloo::max<float>(out, a, b, count);
        });
    try {
      gloo::allreduce(options);
    } catch (const std::exception& error) {
      return GlooError(error);
    }
    if (overflow == 0) return absl::OkStatus();
    return absl::InternalError("gloo: nobody voted overflow, but it came");
  }

 private:
  const std::shared_ptr<gloo::rendezvous::Context> context_;
  gloo::rendezvous::FileStore files_;
  gloo::rendezvous::PrefixStore store_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Voter>> MakeGlooVoter(
    const VoterOptions& options) {
  try {
    return std::make_unique<GlooVoter>(options);
  } catch (const std::exception& error) {
    return GlooError(error);
  }
}

}  // namespace lossscaler::bench
