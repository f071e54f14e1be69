// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/launcher/server.h"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace lossscaler::sharded {
namespace {

constexpr absl::Duration kStartTime = absl::Seconds(30);
constexpr absl::Duration kAskAgain = absl::Milliseconds(20);

}  // namespace

Server::Server(std::string program, std::string folder)
    : program_(std::move(program)), folder_(std::move(folder)) {}

absl::Status Server::Start() {
  const std::string ready = folder_ + "/address";
  std::remove(ready.c_str());
  absl::StatusOr<Process> process = Process::Start(
      {program_, "--store", absl::StrCat("sqlite:", folder_, "/store"),
       "--listen", address_, "--admin-listen", "127.0.0.1:0", "--ready-file",
       ready},
      folder_ + "/lossscalerd.log");
  if (!process.ok()) return process.status();
  process_ = *std::move(process);
  const absl::Time deadline = absl::Now() + kStartTime;
  while (process_.Poll() == Process::State::kRunning &&
         absl::Now() < deadline) {
    std::ifstream file(ready);
    if (file >> address_) return absl::OkStatus();
    absl::SleepFor(kAskAgain);
  }
  return absl::UnavailableError(absl::StrCat(
      "the server did not become ready; see ", folder_, "/lossscalerd.log"));
}

void Server::Kill() {
  process_.Signal(SIGKILL);
  process_.Wait();
}

absl::Status Server::Stop() {
  process_.Signal(SIGTERM);
  process_.Wait();
  if (process_.exit_code() == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "the server ended with ", process_.exit_code(), " instead of 0"));
}

}  // namespace lossscaler::sharded
