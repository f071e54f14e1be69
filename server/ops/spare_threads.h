// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SpareThreads: holds back the event threads of gRPC that are not needed.
//
// gRPC's callback API runs at least two threads that wait for events, and
// whoever has got one wakes another to wait in its place before it sees to it.
// Each message thus costs two context switches more: with one thread for all of
// them a vote costs the server a third less, and so do other calls and the
// chunks of a stream.
// But a stream of gradients keeps a thread busy, and a large machine has many
// calls at once. So half of the threads work, more if there are more streams
// and votes to see to, and all others are held: each in a callback, that of a
// call on a channel that leads nowhere, which returns when it is let go.
//
// A thread of gRPC that has seen no event for a second sleeps for a tenth of
// one before it looks again. Where there is only one, an alarm keeps it awake.
//
// Threads are found by the name that gRPC gives them. Where there are none,
// none is held, and everything works as it would without this. Event threads
// belong to the whole process: use one of these in it, and none where other
// code relies on a second thread.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_SPARE_THREADS_H_
#define LOSSSCALER_SERVER_OPS_SPARE_THREADS_H_

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "grpcpp/alarm.h"
#include "grpcpp/generic/generic_stub.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class SpareThreads {
 public:
  // Holds none yet.
  SpareThreads();
  // Lets all of them go, and waits until they have gone. Not on one of them.
  ~SpareThreads();

  SpareThreads(const SpareThreads&) = delete;
  SpareThreads& operator=(const SpareThreads&) = delete;

  // From now on those that nobody needs are held; until End(), for good. Called
  // again, looks for threads if it has found no spare one so far; not for ever.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Somebody keeps one thread busy for a while.
  void Need() ABSL_LOCKS_EXCLUDED(mutex_);
  void NeedNoMore() ABSL_LOCKS_EXCLUDED(mutex_);
  // There are votes, which from now on have a thread beside those.
  void NeedForVotes() ABSL_LOCKS_EXCLUDED(mutex_);

  // Threads that are held, or will be in a moment.
  int held() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call;

  // How many to hold.
  int Spare() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Follow() ABSL_LOCKS_EXCLUDED(mutex_);
  void HoldOne();
  // A call that fails at once, on an event thread.
  void CallNowhere(const std::function<void(std::shared_ptr<Call>)>& done);
  void BeHeld(std::shared_ptr<Call> call) ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the alarm again each time it rings.
  void StayAwake() ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::GenericStub nowhere_;

  mutable Mutex mutex_;
  CondVar changed_;
  enum class Phase { kNew, kBegun, kEnded };
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  // That gRPC runs, counted in Begin().
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int counts_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mutex_);
  // The alarm is set, or is ringing.
  bool awake_ ABSL_GUARDED_BY(mutex_) = false;
  int needs_ ABSL_GUARDED_BY(mutex_) = 0;
  bool votes_ ABSL_GUARDED_BY(mutex_) = false;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SPARE_THREADS_H_
