// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// One rank: joins the session, trains, writes down what it ended with.

#include <csignal>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/client/client.h"
#include "lossscaler/core/loss_scaler.h"
#include "sharded_trainer/alone.h"
#include "sharded_trainer/configuration.h"
#include "sharded_trainer/lesson.h"
#include "sharded_trainer/notes.h"
#include "sharded_trainer/peers.h"
#include "sharded_trainer/saved_shard.h"
#include "sharded_trainer/shard.h"
#include "sharded_trainer/trainer.h"

namespace lossscaler::sharded {
namespace {

struct Flags {
  std::string address;
  std::string session;
  std::string folder;
  std::string data = LOSSSCALER_DIGITS_DATA;
  int rank = 0;
  std::uint64_t seed = 1;
  std::int64_t attempt = 1;
  bool alone = false;
  bool load = false;
  TrainerOptions trainer;
};

absl::Status TrainInGroup(const Flags& flags, const std::string& checkpoint,
                          Peers& peers, const Lesson& lesson,
                          const Notes& notes, Finish* finish) {
  Client client({.address = flags.address});
  const absl::StatusOr<SessionInfo> session =
      client.OpenGroup(flags.session, InitialScaler(), kGroup);
  if (!session.ok()) return session.status();

  WorkerOptions options = {.worker = absl::StrCat("rank-", flags.rank),
                           .attempt = flags.attempt,
                           .checkpoint = checkpoint,
                           .resume_token = notes.GetResumeToken()};
  TrainerOptions trainer = flags.trainer;
  trainer.newcomer = checkpoint.empty() && !options.resume_token.empty();
  absl::StatusOr<WorkerSession> worker =
      client.JoinGroup(flags.session, options);
  if (!worker.ok()) return worker.status();
  absl::Status status = notes.SetResumeToken(worker->resume_token());
  if (!status.ok()) return status;
  status = Trainer(*worker, peers, lesson, notes, trainer).Run();
  if (!status.ok()) return status;
  finish->incarnation = worker->worker().incarnation;
  return worker->Leave();
}

absl::Status Main(const Flags& flags) {
  const Notes notes(flags.folder, flags.rank);
  const absl::StatusOr<Lesson> lesson = Lesson::Load(flags.data, flags.seed);
  if (!lesson.ok()) return lesson.status();
  const int next = (flags.rank + 1) % kRanks;
  std::string checkpoint;
  Shard own;
  Shard replica;
  if (flags.load) {
    absl::StatusOr<SavedShard> saved = LoadSavedShard(notes.checkpoint_path());
    if (!saved.ok()) return saved.status();
    absl::StatusOr<SavedShard> neighbour =
        LoadSavedShard(Notes(flags.folder, next).checkpoint_path());
    if (!neighbour.ok()) return neighbour.status();
    checkpoint = saved->session;
    own = saved->shard;
    replica = neighbour->shard;
  } else {
    Eigen::VectorXf initial = lesson->InitialParameters();
    const auto shard_of = [&](int rank) {
      const auto run = RunOf(rank, Elements(initial));
      return Shard::Untrained(Eigen::Map<const Eigen::VectorXf>(
          run.data(), static_cast<Eigen::Index>(run.size())));
    };
    own = shard_of(flags.rank);
    replica = shard_of(next);
  }
  Peers peers({.rank = flags.rank,
               .ranks = kRanks,
               .meeting_place = flags.folder,
               .timeout = kCollectiveTimeout},
              own, replica);

  Finish finish;
  absl::Status status =
      flags.alone
          ? TrainAlone(flags.trainer.iterations, InitialScaler(), peers,
                       *lesson, notes)
          : TrainInGroup(flags, checkpoint, peers, *lesson, notes, &finish);
  if (!status.ok()) return status;
  status = peers.GatherParameters();
  if (!status.ok()) return status;
  Eigen::VectorXf parameters = peers.parameters();
  const Score score = lesson->Examine(parameters);
  finish.loss = score.loss;
  finish.accuracy = score.accuracy;
  finish.parameters = Fingerprint(std::as_bytes(Elements(parameters)));
  finish.own = Fingerprint(peers.own);
  finish.replica = Fingerprint(peers.replica);
  return notes.SetFinish(finish);
}

}  // namespace
}  // namespace lossscaler::sharded

int main(int argc, char** argv) {
  lossscaler::sharded::Flags flags;
  CLI::App app("One rank of the sharded trainer; sharded_demo starts four.");
  app.add_option("--address", flags.address, "Server: host:port or unix:PATH");
  app.add_option("--session", flags.session);
  app.add_option("--folder", flags.folder, "Shared by all ranks")->required();
  app.add_option("--rank", flags.rank)
      ->check(CLI::Range(0, lossscaler::sharded::kRanks - 1))
      ->required();
  app.add_option("--iterations", flags.trainer.iterations)->required();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--data", flags.data, "A copy of digits.csv.gz")
      ->capture_default_str();
  app.add_flag("--alone", flags.alone, "Decide without the service");
  app.add_option("--attempt", flags.attempt, "Start of the whole job")
      ->capture_default_str();
  app.add_flag("--load", flags.load, "Begin with the checkpoint in FOLDER");
  app.add_option("--checkpoint", flags.trainer.checkpoint,
                 "Save one before this iteration");
  app.add_option("--stop", flags.trainer.stop,
                 "Stop (SIGSTOP) between reduction and vote of this iteration");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::Status status = lossscaler::sharded::Main(flags);
  if (!status.ok()) {
    std::cerr << "sharded_worker: " << status.message() << std::endl;
    return 1;
  }
  return 0;
}
