// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/call.h"

#include <cstddef>
#include <utility>

namespace lossscaler::server {
namespace {

// What a record keeps of a name that nobody has checked yet; longer than any
// that is allowed.
constexpr std::size_t kMaxRecordedBytes = 256;

}  // namespace

Call::Call(const Reception* reception, Method method,
           const grpc::CallbackServerContext* context)
    : reception_(reception),
      method_(method),
      context_(context),
      arrival_(std::chrono::steady_clock::now()) {}

absl::Status Call::Identify() {
  if (!reception_->identify) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<const Caller>> caller =
      reception_->identify(Metadata("authorization"));
  if (!caller.ok()) return caller.status();
  caller_ = *std::move(caller);
  return absl::OkStatus();
}

absl::Status Call::Admit(std::string_view session) {
  session_ = session.substr(0, kMaxRecordedBytes);
  return caller_ == nullptr ? absl::OkStatus()
                            : CheckAllowed(*caller_, method_, session);
}

void Call::Name(std::string_view worker, std::optional<std::int64_t> step) {
  worker_ = worker.substr(0, kMaxRecordedBytes);
  step_ = step;
}

void Call::End(const absl::Status& status) {
  status_ = status;
  took_ = absl::FromChrono(std::chrono::steady_clock::now() - arrival_);
  for (CallObserver* const observer : reception_->observers) {
    observer->OnCallEnd(*this);
  }
}

std::string Call::peer() const { return context_->peer(); }

std::string Call::call_id() const {
  return std::string(Metadata("x-request-id"));
}

std::string_view Call::Metadata(const char* key) const {
  const auto& metadata = context_->client_metadata();
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

}  // namespace lossscaler::server
