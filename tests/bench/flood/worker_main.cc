// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// flood_worker: floods a server from when it is told 1 to when it is told 0;
// then it answers how many calls were answered. Started by the driver, see
// bench/process/worker_process.h.
//
// usage: flood_worker refused|answered ADDRESS CONNECTIONS CALLS

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/flood/flooder.h"
#include "bench/process/worker_process.h"
#include "lossscaler/process/set_up.h"

namespace lossscaler::bench {
namespace {

absl::Status Run(char** argv) {
  const FloodKind kind = std::string_view(argv[1]) == "refused"
                             ? FloodKind::kRefused
                             : FloodKind::kAnswered;
  const absl::StatusOr<std::unique_ptr<Flooder>> flooder =
      Flooder::Connect(kind, argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  if (!flooder.ok()) return flooder.status();
  return ServeRounds(
      [&](std::int64_t on) -> absl::StatusOr<std::vector<std::int64_t>> {
        if (on != 0) {
          (*flooder)->Start();
          return std::vector<std::int64_t>();
        }
        const absl::StatusOr<std::int64_t> answered = (*flooder)->Stop();
        if (!answered.ok()) return answered.status();
        return std::vector<std::int64_t>{*answered};
      });
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs(
        "usage: flood_worker refused|answered ADDRESS CONNECTIONS CALLS\n",
        stderr);
    return 2;
  }
  lossscaler::SetUpProcess();
  lossscaler::bench::DieWithDriver();
  // On a machine of their own these clients would take no processor from those
  // that are measured. Here they take what is left, in the kernel's eyes; what
  // they cost the server's time is what is measured.
  setpriority(PRIO_PROCESS, 0, /*least*/ 19);
  const absl::Status status = lossscaler::bench::Run(argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "flood_worker: %s\n", status.ToString().c_str());
  return 1;
}
