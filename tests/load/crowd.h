// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Crowd: a load on one server: its sessions, and who calls.

#ifndef LOSSSCALER_TESTS_LOAD_CROWD_H_
#define LOSSSCALER_TESTS_LOAD_CROWD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "load/caller.h"
#include "load/course.h"
#include "load/group.h"
#include "load/sessions.h"

namespace lossscaler::load {

// Each caller has one call under way at any time: a vote that waits for its
// decision and a watch that waits for the next one are such calls.
struct CrowdPlan {
  int sessions = 10'000;
  // Groups have a watcher each.
  int groups = 48;
  int workers_per_group = 8;
  int unscalers = 16;
  int loss_scalers = 128;
  int readers = 64;
  // Update what is no session of groups or unscalers.
  int updaters = 360;

  int callers() const {
    return groups * (workers_per_group + 1) + unscalers + loss_scalers +
           readers + updaters;
  }
};

// Thread safety: one thread.
class Crowd {
 public:
  Crowd(const CrowdPlan& plan, const std::string& address);

  // Creates all sessions.
  void CreateSessions();
  // Has all callers call for `duration`, and waits until everybody is answered.
  void CallFor(absl::Duration duration);
  // Compares every session with what callers were told.
  void AuditSessions();

  const Course& course() const { return course_; }

 private:
  struct Group {
    Group(LoadSession* load_session, const Course* course)
        : session(load_session), end(course) {}

    LoadSession* const session;
    CommonEnd end;
    std::vector<std::unique_ptr<LoadWorker>> workers;
    std::unique_ptr<LoadWatcher> watcher;
  };

  // Stubs are on a few connections, dealt out in turn.
  Stub* NextStub();
  std::span<LoadSession> Updated();
  absl::Status Gather();
  // Waits until at most `left` callers are under way; cancels the rest if that
  // takes too long.
  void Await(std::int64_t left);
  void RunAll(const std::vector<std::unique_ptr<Caller>>& callers);

  const CrowdPlan plan_;
  Course course_;
  std::vector<std::unique_ptr<Stub>> stubs_;
  std::size_t dealt_ = 0;
  std::vector<LoadSession> sessions_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_CROWD_H_
