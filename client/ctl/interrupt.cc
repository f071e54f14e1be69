// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace lossscaler::ctl {
namespace {

const char* WhatIsWritten(Results results) {
  switch (results) {
    case Results::kThrownAway:
      return "; nothing was written";
    case Results::kSomeInPlace:
      return "; some results had been written";
    case Results::kInPlace:
      return "; the results had been written";
    case Results::kNone:
      return "";
  }
  return "";
}

void Say(Results results) {
  // On a terminal, after the "^C" or the progress bar.
  const std::string text = std::string(isatty(STDERR_FILENO) == 1 ? "\n" : "") +
                           "lossscalerctl: interrupted" +
                           WhatIsWritten(results) + "\n";
  // Nobody is left to be told if this fails.
  [[maybe_unused]] const ssize_t ignored =
      write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void HandleInterrupts(UnfinishedFiles* unfinished) {
  sigset_t signals;
  sigemptyset(&signals);
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN) continue;
    sigaddset(&signals, signal);
    any = true;
  }
  if (!any) return;
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([unfinished, signals] {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    Say(unfinished->RemoveAll());
    ::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
  }).detach();
}

}  // namespace lossscaler::ctl
