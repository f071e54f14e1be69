// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// failpoint_server: lossscalerd with a failpoint (testing/failpoint_store.h).
//
//   failpoint_server after_step:7 [flags of lossscalerd]
//
// It knows no orderly end; whoever starts it kills it.

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app.h"
#include "lossscaler/process/set_up.h"
#include "ops/resolve.h"
#include "ops/setting_sources.h"
#include "store/open_store.h"
#include "testing/failpoint_store.h"

int main(int argc, char** argv) {
  using lossscaler::testing::Failpoint;
  using lossscaler::testing::FailpointStore;
  namespace server = lossscaler::server;

  lossscaler::SetUpProcess();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::optional<Failpoint> failpoint =
      argc > 1 ? Failpoint::Parse(argv[1]) : std::nullopt;
  if (!failpoint) {
    std::cerr << "usage: failpoint_server before_step:N|after_step:N [flags]\n";
    return 1;
  }
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  const absl::StatusOr<server::ResolvedSettings> settings =
      server::ResolveSettings(server::ReadCommandLine(arguments).settings, {});
  if (!settings.ok()) {
    std::cerr << settings.status() << "\n";
    return 1;
  }
  absl::StatusOr<std::unique_ptr<server::Store>> store =
      server::OpenStore(settings->config.store, {});
  if (!store.ok()) {
    std::cerr << store.status() << "\n";
    return 1;
  }
  const absl::StatusOr<std::unique_ptr<server::App>> app =
      server::App::StartWithStore(
          settings->config,
          std::make_unique<FailpointStore>(*std::move(store), *failpoint));
  if (!app.ok()) {
    std::cerr << app.status() << "\n";
    return 1;
  }
  for (;;) pause();
}
