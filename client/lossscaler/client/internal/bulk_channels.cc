// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/bulk_channels.h"

#include <algorithm>
#include <utility>

namespace lossscaler::internal {

HeldChannel::HeldChannel(std::shared_ptr<BulkChannels> channels,
                         std::size_t slot,
                         std::shared_ptr<grpc::Channel> channel)
    : channels_(std::move(channels)),
      slot_(slot),
      channel_(std::move(channel)) {}

HeldChannel::~HeldChannel() {
  MutexLock lock(&channels_->mutex_);
  BulkChannels::Slot& slot = channels_->slots_[slot_];
  // Not if it was thrown away, and another one is in its place.
  if (slot.channel == channel_) --slot.holders;
}

void HeldChannel::ThrowAway() {
  MutexLock lock(&channels_->mutex_);
  BulkChannels::Slot& slot = channels_->slots_[slot_];
  if (slot.channel == channel_) slot = {};
}

BulkChannels::BulkChannels(int count, MakeOne make_one)
    : make_one_(std::move(make_one)), slots_(static_cast<std::size_t>(count)) {}

std::unique_ptr<HeldChannel> BulkChannels::Hold() {
  MutexLock lock(&mutex_);
  const auto slot = std::min_element(
      slots_.begin(), slots_.end(),
      [](const Slot& a, const Slot& b) { return a.holders < b.holders; });
  if (!slot->channel) slot->channel = make_one_();
  ++slot->holders;
  return std::make_unique<HeldChannel>(
      shared_from_this(), static_cast<std::size_t>(slot - slots_.begin()),
      slot->channel);
}

}  // namespace lossscaler::internal
