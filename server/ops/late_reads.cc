// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/late_reads.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace lossscaler::server {

void LateRead::PutOff() {
  {
    MutexLock lock(&mutex_);
    put_off_ = true;
    looked_at_ = false;
    if (std::exchange(listed_, true)) return;
  }
  all_->List(shared_from_this());
}

void LateRead::StartNow() {
  MutexLock lock(&mutex_);
  if (std::exchange(put_off_, false)) start_();
}

void LateRead::Drop() {
  MutexLock lock(&mutex_);
  put_off_ = false;
}

bool LateRead::Look() {
  MutexLock lock(&mutex_);
  if (put_off_ && !std::exchange(looked_at_, true)) return true;
  listed_ = false;
  if (std::exchange(put_off_, false)) start_();
  return false;
}

LateReads::LateReads(absl::Duration delay)
    : delay_(delay), thread_([this] { Run(); }) {}

LateReads::~LateReads() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Signal();
  }
  thread_.join();
}

void LateReads::List(std::shared_ptr<LateRead> read) {
  MutexLock lock(&mutex_);
  if (listed_.empty()) changed_.Signal();
  listed_.push_back(std::move(read));
}

bool LateReads::Await(std::vector<std::shared_ptr<LateRead>>* listed) {
  MutexLock lock(&mutex_);
  while (!stopping_ && listed_.empty()) changed_.Wait(&mutex_);
  if (!stopping_) changed_.WaitFor(&mutex_, delay_);
  listed->swap(listed_);
  return !stopping_;
}

void LateReads::Run() {
  std::vector<std::shared_ptr<LateRead>> listed;
  while (Await(&listed)) {
    std::erase_if(listed, [](const std::shared_ptr<LateRead>& read) {
      return !read->Look();
    });
    MutexLock lock(&mutex_);
    listed_.insert(listed_.end(), std::make_move_iterator(listed.begin()),
                   std::make_move_iterator(listed.end()));
    listed.clear();
  }
}

}  // namespace lossscaler::server
