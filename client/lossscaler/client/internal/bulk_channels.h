// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// BulkChannels: the connections that gradients travel on, apart from the one
// for everything else, so that no small call waits behind a large one.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CLIENT_INTERNAL_BULK_CHANNELS_H_
#define LOSSSCALER_CLIENT_INTERNAL_BULK_CHANNELS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "grpcpp/channel.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {

class BulkChannels;

// A stream's hold on its channel, for as long as this lives.
class HeldChannel {
 public:
  HeldChannel(std::shared_ptr<BulkChannels> channels, std::size_t slot,
              std::shared_ptr<grpc::Channel> channel);
  ~HeldChannel();
  HeldChannel(const HeldChannel&) = delete;
  HeldChannel& operator=(const HeldChannel&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Later streams get another channel in place of this one. Its other streams
  // keep it.
  void ThrowAway();

 private:
  const std::shared_ptr<BulkChannels> channels_;
  const std::size_t slot_;
  const std::shared_ptr<grpc::Channel> channel_;
};

class BulkChannels : public std::enable_shared_from_this<BulkChannels> {
 public:
  using MakeOne = std::function<std::shared_ptr<grpc::Channel>()>;

  // At most `count` of them (1 or more), each made when it is first needed.
  BulkChannels(int count, MakeOne make_one);

  // The one with the fewest holders.
  //
  // REQUIRES: this is owned by a shared pointer.
  std::unique_ptr<HeldChannel> Hold();

 private:
  friend class HeldChannel;

  struct Slot {
    std::shared_ptr<grpc::Channel> channel;
    int holders = 0;
  };

  const MakeOne make_one_;
  Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_BULK_CHANNELS_H_
