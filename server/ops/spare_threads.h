// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SpareThreads: holds back the event threads of gRPC that are not needed.
//
// gRPC's callback API runs at least two threads that wait for events, and
// whoever has got one wakes another to wait in its place before it sees to it.
// Many short messages, such as votes, thus cost two context switches each: with
// one thread for all of them a vote costs the server a third less. A stream of
// gradients, in turn, keeps a thread busy. So all threads but one are held
// while there is no such stream: each in a callback, that of a call on a
// channel that leads nowhere, which returns when it is let go.
//
// Threads are found by the name that gRPC gives them. Where there are none,
// none is held, and everything works as it would without this. Event threads
// belong to the whole process: use one of these in it, and none where other
// code relies on a second thread.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_SPARE_THREADS_H_
#define LOSSSCALER_SERVER_OPS_SPARE_THREADS_H_

#include <memory>

#include "absl/base/thread_annotations.h"
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

  // From now on they are held whenever nobody needs them; until End(), for
  // good. Called again, looks for threads if it has found no spare one.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Somebody keeps a thread busy for a while, and so all of them may be needed.
  void Need() ABSL_LOCKS_EXCLUDED(mutex_);
  void NeedNoMore() ABSL_LOCKS_EXCLUDED(mutex_);

  // Threads that are held, or will be in a moment.
  int held() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call;

  bool Holding() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return phase_ == Phase::kBegun && needs_ == 0;
  }
  void Follow() ABSL_LOCKS_EXCLUDED(mutex_);
  void HoldOne();
  void BeHeld(std::shared_ptr<Call> call) ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::GenericStub nowhere_;

  mutable Mutex mutex_;
  CondVar changed_;
  enum class Phase { kNew, kBegun, kEnded };
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  // That gRPC runs, counted in Begin().
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int needs_ ABSL_GUARDED_BY(mutex_) = 0;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SPARE_THREADS_H_
