// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/launcher/ranks.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace lossscaler::sharded {
namespace {

// No run takes as long.
constexpr absl::Duration kPatience = absl::Minutes(3);
constexpr absl::Duration kLookAgain = absl::Milliseconds(10);

}  // namespace

Ranks::Ranks(std::vector<std::string> command, std::string folder)
    : command_(std::move(command)), folder_(std::move(folder)) {}

void Ranks::StopAt(int rank, std::int64_t iteration) {
  stops_[static_cast<std::size_t>(rank)] = iteration;
}

absl::Status Ranks::StartAll(const std::vector<std::string>& more) {
  command_.insert(command_.end(), more.begin(), more.end());
  for (int rank = 0; rank < kRanks; ++rank) {
    absl::Status status = Start(rank);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Ranks::Start(int rank) {
  std::vector<std::string> command = command_;
  command.insert(command.end(),
                 {"--folder", folder_, "--rank", absl::StrCat(rank)});
  if (const auto stop = stops_[static_cast<std::size_t>(rank)]) {
    command.insert(command.end(), {"--stop", absl::StrCat(*stop)});
  }
  absl::StatusOr<Process> process = Process::Start(command, OutputOf(rank));
  if (!process.ok()) return process.status();
  processes_[static_cast<std::size_t>(rank)] = *std::move(process);
  return absl::OkStatus();
}

void Ranks::Kill(int rank) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  process.Signal(SIGKILL);
  process.Wait();
}

void Ranks::KillAll() {
  for (int rank = 0; rank < kRanks; ++rank) Kill(rank);
}

void Ranks::Continue(int rank) {
  processes_[static_cast<std::size_t>(rank)].Signal(SIGCONT);
}

absl::Status Ranks::AwaitStop(int rank) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    for (int other = 0; other < kRanks; ++other) {
      const Process::State state =
          processes_[static_cast<std::size_t>(other)].Poll();
      if (state == Process::State::kEnded) return Failure(other);
      if (state == Process::State::kStopped && other == rank) {
        return absl::OkStatus();
      }
    }
    absl::SleepFor(kLookAgain);
  }
  return absl::DeadlineExceededError(
      absl::StrCat("rank ", rank, " does not come to where it should stop"));
}

absl::StatusOr<std::vector<Finish>> Ranks::AwaitEnd() {
  const absl::Time deadline = absl::Now() + kPatience;
  int running = kRanks;
  while (running > 0) {
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError("the ranks do not come to an end");
    }
    absl::SleepFor(kLookAgain);
    running = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      Process& process = processes_[static_cast<std::size_t>(rank)];
      if (process.Poll() != Process::State::kEnded) {
        ++running;
      } else if (process.exit_code() != 0) {
        return Failure(rank);
      }
    }
  }
  std::vector<Finish> finishes;
  for (int rank = 0; rank < kRanks; ++rank) {
    const absl::StatusOr<Finish> finish = Notes(folder_, rank).GetFinish();
    if (!finish.ok()) return finish.status();
    finishes.push_back(*finish);
  }
  return finishes;
}

absl::StatusOr<std::vector<std::vector<SeenStep>>> Ranks::Seen() const {
  std::vector<std::vector<SeenStep>> seen;
  for (int rank = 0; rank < kRanks; ++rank) {
    absl::StatusOr<std::vector<SeenStep>> steps = Notes(folder_, rank).Steps();
    if (!steps.ok()) return steps.status();
    seen.push_back(*std::move(steps));
  }
  return seen;
}

absl::Status Ranks::Failure(int rank) const {
  std::ifstream file(OutputOf(rank));
  const std::string output{std::istreambuf_iterator<char>(file), {}};
  return absl::AbortedError(absl::StrCat(
      "rank ", rank, " ended with ",
      processes_[static_cast<std::size_t>(rank)].exit_code(), ":\n", output));
}

std::string Ranks::OutputOf(int rank) const {
  return absl::StrCat(folder_, "/rank-", rank, ".output");
}

}  // namespace lossscaler::sharded
