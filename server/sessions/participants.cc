// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/participants.h"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "sessions/participation.h"

namespace lossscaler::server {

void Participants::Expect(const std::shared_ptr<Participation>& stream) {
  absl::Status drained;
  {
    MutexLock lock(&mutex_);
    if (!drained_) {
      expected_.insert(stream);
      return;
    }
    drained = *drained_;
  }
  stream->End(drained);
}

void Participants::Opening(const std::shared_ptr<Participation>& stream) {
  MutexLock lock(&mutex_);
  expected_.erase(stream);
}

void Participants::Drain(const absl::Status& error) {
  std::set<std::shared_ptr<Participation>> silent;
  {
    MutexLock lock(&mutex_);
    drained_ = error;
    silent.swap(expected_);
  }
  for (const std::shared_ptr<Participation>& stream : silent) {
    stream->End(error);
  }
}

std::shared_ptr<Participation> Participants::Seat(
    const Session* session, std::int64_t incarnation,
    const std::shared_ptr<Participation>& stream) {
  MutexLock lock(&mutex_);
  return std::exchange(seats_[{session, incarnation}], stream);
}

void Participants::Leave(const Session* session, std::int64_t incarnation,
                         const Participation* stream) {
  MutexLock lock(&mutex_);
  const auto seat = seats_.find({session, incarnation});
  if (seat != seats_.end() && seat->second.get() == stream) seats_.erase(seat);
}

std::int64_t Participants::size() const {
  MutexLock lock(&mutex_);
  return static_cast<std::int64_t>(seats_.size());
}

}  // namespace lossscaler::server
