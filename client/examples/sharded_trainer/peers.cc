// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/peers.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::sharded {
Peers::Peers(CollectiveOptions options, Shard own_in, Shard replica_in)
    : own(std::move(own_in)),
      replica(std::move(replica_in)),
      options_(std::move(options)),
      parameters_(kRanks * own.parameters.size()) {}

absl::StatusOr<Meeting> Peers::Meet(
    const Standing& mine, const std::function<std::int64_t()>& epoch) {
  absl::Status status = Connect(epoch);
  if (!status.ok()) return status;
  absl::StatusOr<Meeting> meeting = MeetConnected(mine);
  if (absl::IsUnavailable(meeting.status())) collective_.reset();
  return meeting;
}

absl::Status Peers::Connect(const std::function<std::int64_t()>& epoch) {
  for (;;) {
    const std::int64_t now = epoch();
    if (now == epoch_ && collective_) return absl::OkStatus();
    if (now == epoch_) {
      return absl::FailedPreconditionError(
          absl::StrCat("the ranks' connections of epoch ", now,
                       " broke although nobody was lost; start the job again "
                       "from a checkpoint"));
    }
    epoch_ = now;
    absl::StatusOr<Collective> connected = Collective::Connect(
        options_, absl::StrCat("epoch-", now), [&] { return epoch() == now; });
    if (connected.ok()) {
      collective_ = *std::move(connected);
    } else if (!absl::IsAborted(connected.status())) {
      return connected.status();
    } else {
      collective_.reset();
    }
  }
}

absl::StatusOr<Meeting> Peers::MeetConnected(const Standing& mine) {
  std::array<Standing, kRanks> all;
  const auto at_my_step = [&](const Standing& standing) {
    return standing.step == mine.step;
  };
  do {
    absl::Status status =
        collective_->AllGather(std::span(&mine, 1), std::span<Standing>(all));
    if (!status.ok()) return status;
    for (const Standing& standing : all) {
      if (standing.step <= mine.step) continue;
      return absl::AbortedError(absl::StrCat(
          "step ", mine.step, " was decided while this rank was away"));
    }
    // Who is behind hears so in the same moment, and comes again.
  } while (!std::all_of(all.begin(), all.end(), at_my_step));

  Meeting meeting;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (all[static_cast<std::size_t>(rank)].in_sync) {
      meeting.standing = all[static_cast<std::size_t>(rank)];
      continue;
    }
    meeting.handed_over = true;
    absl::Status status = HandOver(rank, all);
    if (!status.ok()) return status;
  }
  absl::Status status = GatherParameters();
  if (!status.ok()) return status;
  return meeting;
}

absl::Status Peers::GatherParameters() {
  return collective_->AllGather(
      std::span<const float>(Elements(own.parameters)), Elements(parameters_));
}

absl::Status Peers::HandOver(int to, std::span<const Standing> all) {
  const int before = (to + kRanks - 1) % kRanks;
  const int after = (to + 1) % kRanks;
  if (!all[static_cast<std::size_t>(before)].in_sync ||
      !all[static_cast<std::size_t>(after)].in_sync) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", to,
                     " and a neighbour of it have lost what they "
                     "had; start the job again from a checkpoint"));
  }
  if (rank() == before) return Send(to, replica);
  if (rank() == after) return Send(to, own);
  if (rank() != to) return absl::OkStatus();
  absl::Status status = Receive(before, own);
  return status.ok() ? Receive(after, replica) : status;
}

absl::Status Peers::Send(int to, Shard& shard) {
  for (const std::span<std::byte> part : PartsOf(shard)) {
    absl::Status status = collective_->Send(to, part);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Peers::Receive(int from, Shard& shard) {
  for (const std::span<std::byte> part : PartsOf(shard)) {
    absl::Status status = collective_->Receive(from, part);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Peers::AllReduce(std::span<Eigen::half> gradients) {
  absl::Status status = collective_->AllReduce(gradients);
  if (!status.ok()) collective_.reset();
  return status;
}

}  // namespace lossscaler::sharded
