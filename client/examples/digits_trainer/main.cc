// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Trains one network three times from one seed: in float32, in float16 without
// a loss scale, and in float16 with a dynamic one. README.md explains what the
// table at the end shows.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "digits_trainer/digits.h"
#include "digits_trainer/progress.h"
#include "digits_trainer/report.h"
#include "digits_trainer/training.h"
#include "lossscaler/client/client.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler::digits {
namespace {

constexpr double kInitialScale = 65536.0;
constexpr double kGrowthFactor = 2.0;
// Short, so that the scale climbs until it overflows within a minute.
constexpr std::int64_t kGrowthInterval = 20;

struct Flags {
  std::string address = "127.0.0.1:50551";
  std::string session_prefix;
  std::string data = LOSSSCALER_DIGITS_DATA;
  std::vector<std::string> only = {"float32", "none", "dynamic"};
  std::string json_summary;
  int pause_ms = 0;
  bool keep = false;
  TrainingOptions training;
};

std::string UniquePrefix() {
  std::random_device random;
  return absl::StrFormat("examples/digits-trainer/%08x%08x", random(),
                         random());
}

// Trains in float16 with a session of its own, and deletes it if all went well.
absl::StatusOr<RunResult> TrainInFloat16(
    Client& client, const std::string& name, const LossScaler& scaler,
    const Flags& flags, const Samples& samples,
    const std::function<void(const Epoch&)>& on_epoch) {
  // Not OpenSession: a session that has taken steps has another scale, and the
  // numbers would not be those of the seed.
  absl::StatusOr<Session> session = client.CreateSession(name, scaler);
  if (!session.ok()) return session.status();
  absl::StatusOr<RunResult> result =
      Train(samples, flags.training, &*session, on_epoch);
  if (!result.ok() || flags.keep) return result;
  const absl::Status deleted = session->Delete();
  if (!deleted.ok()) return deleted;
  return result;
}

absl::Status Main(const Flags& flags) {
  const absl::StatusOr<Samples> samples = LoadSamples(flags.data);
  if (!samples.ok()) return samples.status();
  const absl::StatusOr<LossScaler> dynamic =
      LossScaler::Dynamic(kInitialScale, kGrowthFactor, kGrowthInterval);
  if (!dynamic.ok()) return dynamic.status();

  Progress progress(std::cout, isatty(STDOUT_FILENO) != 0);
  ClientOptions options;
  options.address = flags.address;
  options.wait_report_interval = absl::Seconds(1);
  options.on_wait = [&progress](const WaitReport& report) {
    progress.Say(absl::StrFormat(
        "waiting for the server ... %.0f s, giving up in %.0f s: %s",
        absl::ToDoubleSeconds(report.waited),
        absl::ToDoubleSeconds(report.budget_left),
        report.last_error.ToString(
            absl::StatusToStringMode::kWithNoExtraData)));
  };
  Client client(options);
  const std::string prefix =
      flags.session_prefix.empty() ? UniquePrefix() : flags.session_prefix;

  progress.Say(absl::StrFormat(
      "samples: %d, epochs: %d, seed: %d; the loss carries a weight of %g, as "
      "an auxiliary loss would",
      samples->count(), flags.training.epochs, flags.training.seed,
      kLossWeight));
  std::vector<NamedResult> results;
  for (const std::string key : {"float32", "none", "dynamic"}) {
    if (std::find(flags.only.begin(), flags.only.end(), key) ==
        flags.only.end()) {
      continue;
    }
    const std::string title = key == "float32" ? key
                              : key == "none"  ? "float16, None"
                                               : "float16, Dynamic";
    const auto show = [&](const Epoch& epoch) { progress.Show(title, epoch); };
    const absl::StatusOr<RunResult> result =
        key == "float32"
            ? Train(*samples, flags.training, nullptr, show)
            : TrainInFloat16(client, absl::StrCat(prefix, "/", key),
                             key == "none" ? LossScaler::None() : *dynamic,
                             flags, *samples, show);
    if (!result.ok()) {
      progress.Say("");
      return result.status();
    }
    results.push_back({.title = title, .key = key, .result = *result});
  }
  progress.Say("");
  std::cout << Table(results) << std::flush;
  if (flags.keep) progress.Say(absl::StrCat("sessions kept below ", prefix));
  if (!flags.json_summary.empty()) {
    std::ofstream file(flags.json_summary);
    file << Json(results) << std::flush;
    if (!file) {
      return absl::UnavailableError(
          absl::StrCat("cannot write ", flags.json_summary));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace lossscaler::digits

int main(int argc, char** argv) {
  lossscaler::digits::Flags flags;
  CLI::App app(
      "Trains a small network on handwritten digits: in float32, in float16 "
      "without a loss scale, and in float16 with a loss scale that the server "
      "keeps.");
  app.add_option("--address", flags.address, "Server: host:port or unix:PATH")
      ->envname("LOSSSCALER_ADDRESS")
      ->capture_default_str();
  app.add_option("--session-prefix", flags.session_prefix,
                 "Sessions are PREFIX/none and PREFIX/dynamic, and must not "
                 "exist; default: a new name under examples/digits-trainer");
  app.add_option("--epochs", flags.training.epochs)
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--seed", flags.training.seed)->capture_default_str();
  app.add_option("--data", flags.data, "A copy of digits.csv.gz")
      ->capture_default_str();
  app.add_option("--only", flags.only, "Which runs, in a list with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"float32", "none", "dynamic"}))
      ->capture_default_str();
  app.add_option("--json-summary", flags.json_summary,
                 "Also writes the table to this file, as JSON");
  app.add_option("--pause-ms", flags.pause_ms,
                 "Waits this long after each step, to watch or to disturb it")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str();
  app.add_flag("--keep", flags.keep, "Leaves the sessions on the server");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // 0 after --help; otherwise wrong usage.
    return app.exit(error) == 0 ? 0 : 2;
  }
  flags.training.pause = absl::Milliseconds(flags.pause_ms);

  const absl::Status status = lossscaler::digits::Main(flags);
  if (!status.ok()) {
    std::cerr << "digits_trainer: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
