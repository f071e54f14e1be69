// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/participants.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace lossscaler::server {

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
