// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// group_worker: a SimulatedTrainer in a process of its own. SIGTERM: it leaves
// after the step it is in.

#include <signal.h>
#include <sys/prctl.h>

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "fault/group/simulated_trainer.h"
#include "lossscaler/process/set_up.h"

namespace {

volatile int leave = 0;

}  // namespace

int main(int argc, char** argv) {
  lossscaler::SetUpProcess();
  // Ends with the test that has started it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGTERM, [](int) { leave = 1; });

  lossscaler::testing::TrainerOptions options;
  std::string history;
  std::string shelf;
  std::int64_t from_checkpoint = 0;
  std::int64_t compute_ms = 0;
  CLI::App app("One worker of a simulated training job.");
  app.option_defaults()->take_last();
  app.add_option("--address", options.address)->required();
  app.add_option("--session", options.session)->required();
  app.add_option("--worker", options.worker)->required();
  app.add_option("--history", history)->required();
  app.add_option("--shelf", shelf)->required();
  app.add_option("--attempt", options.attempt);
  CLI::Option* const whole_job =
      app.add_option("--from-checkpoint", from_checkpoint);
  app.add_flag("--resume", options.resume);
  app.add_option("--seed", options.seed);
  app.add_option("--unclean-permille", options.unclean_permille);
  app.add_option("--compute-ms", compute_ms);
  app.add_option("--checkpoint-every", options.checkpoint_every);
  app.add_option("--until-step", options.until_step);
  app.add_option("--stop-before", options.stop_before);
  CLI11_PARSE(app, argc, argv);
  if (*whole_job) options.from_checkpoint = from_checkpoint;
  options.compute = absl::Milliseconds(compute_ms);

  const lossscaler::testing::ModelShelf models(shelf);
  lossscaler::testing::HistoryWriter writer(history);
  return static_cast<int>(
      lossscaler::testing::SimulatedTrainer(options, models, &writer)
          .Run(leave));
}
