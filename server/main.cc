// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// lossscalerd: the process around one App.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "app.h"
#include "grpc/grpc.h"
#include "lossscaler/process/set_up.h"
#include "ops/exit_code.h"
#include "ops/grpc_log.h"
#include "ops/log.h"
#include "ops/resolve.h"
#include "ops/setting_sources.h"

namespace lossscaler::server {
namespace {

int Code(ExitCode code) { return static_cast<int>(code); }

void Print(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
}

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// A connection takes a file, and what a shell or an engine gives a process is
// seldom meant for a server. Those beyond the limit are refused; see Listener.
void AllowMostFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int WaitForSignal() {
  const sigset_t signals = EndSignals();
  int received = 0;
  sigwait(&signals, &received);
  return received;
}

ExitCode DrainUnlessHurried(App* app) {
  std::thread second_signal([app] {
    WaitForSignal();
    app->Hurry();
  });
  const ExitCode code = app->Drain();
  // If there was none, this is it: the drain is over. The thread takes it from
  // sigwait(), so that it ends nothing.
  // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
  pthread_kill(second_signal.native_handle(), SIGTERM);
  second_signal.join();
  return code;
}

ExitCode Serve(const Config& config) {
  absl::StatusOr<std::unique_ptr<App>> app = App::Start(config);
  if (!app.ok()) {
    Log(LogLevel::kError, "start_failed",
        {{"error", std::string(app.status().message())},
         {"exit_code", Code(ExitCodeOf(app.status()))}});
    return ExitCodeOf(app.status());
  }
  const int received = WaitForSignal();
  Log(LogLevel::kInfo, "signal",
      {{"name", received == SIGTERM ? "SIGTERM" : "SIGINT"}});
  return DrainUnlessHurried(app->get());
}

ExitCode Run(const std::vector<std::string>& arguments,
             const std::vector<std::string>& environment) {
  const CommandLine line = ReadCommandLine(arguments);
  if (line.help) {
    Print(stdout, HelpText());
    return ExitCode::kDrained;
  }
  if (line.version) {
    Print(stdout, absl::StrCat("lossscalerd ", std::string(Version()), "\n"));
    return ExitCode::kDrained;
  }
  const absl::StatusOr<ResolvedSettings> resolved =
      ResolveSettings(line.settings, ReadEnvironment(environment));
  if (!resolved.ok()) {
    for (const absl::string_view problem :
         absl::StrSplit(resolved.status().message(), '\n')) {
      Print(stderr, absl::StrCat("lossscalerd: ", problem, "\n"));
    }
    return ExitCodeOf(resolved.status());
  }
  if (line.print_config) Print(stdout, PrintConfig(*resolved));
  if (line.check_config) {
    const absl::Status usable = App::CheckCredentials(resolved->config);
    if (!usable.ok()) {
      Print(stderr, absl::StrCat("lossscalerd: ", usable.message(), "\n"));
      return ExitCodeOf(usable);
    }
  }
  if (line.print_config || line.check_config) return ExitCode::kDrained;

  ConfigureLog(resolved->config.log_format, resolved->config.log_level);
  RouteGrpcLog();
  Config config = resolved->config;
  config.owns_process = true;
  return Serve(config);
}

}  // namespace
}  // namespace lossscaler::server

int main(int argc, char** argv) {
  lossscaler::SetUpProcess();
  lossscaler::server::AllowMostFiles();
  // Blocked before the first thread starts, so in every thread: only those that
  // wait for them get them. SIGHUP keeps its meaning.
  const sigset_t signals = lossscaler::server::EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // gRPC is never shut down: that may wait ten seconds for a thread of its own,
  // and the process ends anyhow.
  grpc_init();
  signal(SIGPIPE, SIG_IGN);
  // Between bind() and its chmod() a unix socket is open to nobody either.
  umask(umask(0) | 0007);

  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  return static_cast<int>(lossscaler::server::Run(arguments, environment));
}
