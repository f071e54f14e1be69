// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/collective.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gloo/allgather.h"
#include "gloo/allreduce.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/file_store.h"
#include "gloo/rendezvous/prefix_store.h"
#include "gloo/transport/tcp/device.h"
#include "gloo/transport/unbound_buffer.h"

namespace lossscaler::sharded {
namespace {

constexpr absl::Duration kLookAgain = absl::Milliseconds(5);

// Of messages between two ranks; collectives number theirs from 2^56 on.
constexpr std::uint64_t kSlot = 1;

// A store whose waiting ends when there is nothing to wait for any more.
class PatientStore : public gloo::rendezvous::FileStore {
 public:
  PatientStore(const std::string& folder, std::function<bool()> wanted)
      : FileStore(folder), wanted_(std::move(wanted)) {}

  bool given_up() const { return given_up_; }

  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    const absl::Time deadline = absl::Now() + absl::FromChrono(timeout);
    while (!check(keys)) {
      given_up_ = !wanted_();
      if (given_up_ || absl::Now() >= deadline) {
        throw gloo::IoException("the other ranks have not come");
      }
      absl::SleepFor(kLookAgain);
    }
  }

 private:
  const std::function<bool()> wanted_;
  bool given_up_ = false;
};

// Gloo reports everything by exceptions.
template <typename Call>
absl::Status Try(const char* what, const Call& call) {
  try {
    call();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(what, ": ", error.what()));
  }
}

void AddUp(void* sum, const void* a, const void* b, std::size_t count) {
  const auto* x = static_cast<const Eigen::half*>(a);
  const auto* y = static_cast<const Eigen::half*>(b);
  std::transform(x, x + count, y, static_cast<Eigen::half*>(sum),
                 [](Eigen::half p, Eigen::half q) { return p + q; });
}

}  // namespace

absl::StatusOr<Collective> Collective::Connect(
    const CollectiveOptions& options, const std::string& name,
    const std::function<bool()>& wanted) {
  PatientStore meeting_place(options.meeting_place, wanted);
  std::shared_ptr<gloo::rendezvous::Context> context;
  const absl::Status status = Try("connecting the ranks", [&] {
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice("127.0.0.1");
    gloo::rendezvous::PrefixStore store(name, meeting_place);
    context = std::make_shared<gloo::rendezvous::Context>(options.rank,
                                                          options.ranks);
    context->setTimeout(absl::ToChronoMilliseconds(options.timeout));
    context->connectFullMesh(store, device);
  });
  if (meeting_place.given_up()) return absl::AbortedError(status.message());
  if (!status.ok()) return status;
  return Collective(std::move(context));
}

absl::Status Collective::AllReduce(std::span<Eigen::half> values) {
  return Try("all-reduce", [&] {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(AddUp);
    gloo::allreduce(options);
  });
}

absl::Status Collective::AllGatherBytes(std::span<const std::byte> mine,
                                        std::span<std::byte> all) {
  return Try("all-gather", [&] {
    gloo::AllgatherOptions options(context_);
    // Gloo reads it only.
    options.setInput(const_cast<std::byte*>(mine.data()), mine.size());
    options.setOutput(all.data(), all.size());
    gloo::allgather(options);
  });
}

absl::Status Collective::Send(int to, std::span<const std::byte> bytes) {
  return Try("send", [&] {
    const auto buffer = context_->createUnboundBuffer(
        const_cast<std::byte*>(bytes.data()), bytes.size());
    buffer->send(to, kSlot);
    buffer->waitSend(context_->getTimeout());
  });
}

absl::Status Collective::Receive(int from, std::span<std::byte> bytes) {
  return Try("receive", [&] {
    const auto buffer =
        context_->createUnboundBuffer(bytes.data(), bytes.size());
    buffer->recv(from, kSlot);
    buffer->waitRecv(context_->getTimeout());
  });
}

}  // namespace lossscaler::sharded
