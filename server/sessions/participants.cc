// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/participants.h"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "sessions/participation.h"

namespace lossscaler::server {

void Participants::Expect(const std::shared_ptr<Participation>& stream) {
  absl::Status refused;
  {
    MutexLock lock(&mutex_);
    if (drained_) {
      refused = *drained_;
    } else if (const auto waiting = static_cast<std::int64_t>(expected_.size());
               waiting >= limits_.max_unopened_streams) {
      refused = MakeRetryableError(
          Reason::kTooManyStreams,
          absl::StrCat("the server has ", waiting,
                       " Participate streams that were not opened, the limit "
                       "is ",
                       limits_.max_unopened_streams,
                       "; try again later, and send `open` at once"),
          limits_.retry_delay,
          {{"streams", absl::StrCat(waiting)},
           {"limit", absl::StrCat(limits_.max_unopened_streams)}});
    } else {
      expected_.insert(stream);
      return;
    }
  }
  stream->End(refused);
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
