// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/group/group_job.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "testing/poll_until.h"

namespace lossscaler::testing {
namespace {

constexpr char kServer[] = LOSSSCALER_BINARY_DIR "/server/lossscalerd";
constexpr char kFailpointServer[] =
    LOSSSCALER_BINARY_DIR "/tests/fault/group/failpoint_server";
constexpr char kWorker[] =
    LOSSSCALER_BINARY_DIR "/tests/fault/group/group_worker";
constexpr char kOperator[] = "operator";

std::string MadeDirectory(const std::string& path) {
  std::filesystem::create_directories(path);
  return path;
}

std::shared_ptr<Connection> Connect(const std::string& address) {
  ClientOptions options;
  options.address = address;
  options.unavailable_budget = absl::Minutes(1);
  return MakeConnection(options);
}

}  // namespace

GroupJob::GroupJob(std::string directory, GroupJobOptions options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      shelf_(MadeDirectory(Path("shelf"))),
      address_(absl::StrCat("unix:", Path("socket"))),
      operator_history_(
          std::make_unique<HistoryWriter>(Path("operator.history"))),
      connection_(Connect(address_)),
      workers_(static_cast<std::size_t>(options_.config.max_workers)) {}

std::string GroupJob::Path(const std::string& name) const {
  return absl::StrCat(directory_, "/", name);
}

std::vector<std::string> GroupJob::ServerFlags() const {
  return {absl::StrCat("--store=sqlite:", Path("state")),
          "--listen=127.0.0.1:0",
          absl::StrCat("--listen=", address_),
          absl::StrCat("--ready-file=", Path("ready")),
          "--drain-timeout=1h",
          "--admin-listen=127.0.0.1:0"};
}

bool GroupJob::StartServer(const std::string& failpoint) {
  std::vector<std::string> flags = ServerFlags();
  if (!failpoint.empty()) flags.insert(flags.begin(), failpoint);
  // A killed server has left it.
  std::filesystem::remove(Path("ready"));
  server_ = std::make_unique<ServerProcess>(
      failpoint.empty() ? kServer : kFailpointServer, directory_, flags);
  const std::vector<std::string> addresses =
      server_->WaitUntilReady(Path("ready"));
  int port = 0;
  if (addresses.empty() ||
      !absl::SimpleAtoi(addresses[0].substr(addresses[0].rfind(':') + 1),
                        &port)) {
    return false;
  }
  proxy_.set_port(port);
  return true;
}

void GroupJob::KillServer() {
  server_->Signal(SIGKILL);
  server_->Wait();
}

absl::Status GroupJob::Create() {
  return connection_
      ->CreateGroup(kSession, options_.scaler, options_.config, IfExists::kFail)
      .status();
}

SpawnedProcess& GroupJob::StartWorker(int rank,
                                      const std::vector<std::string>& flags) {
  std::vector<std::string> all = {
      "--address",
      proxy_.address(),
      "--session",
      kSession,
      "--worker",
      NameOf(rank),
      "--attempt",
      absl::StrCat(attempt_),
      "--shelf",
      Path("shelf"),
      "--history",
      Path(absl::StrFormat("%s.%06d.history", NameOf(rank), ++started_))};
  all.insert(all.end(), options_.worker_flags.begin(),
             options_.worker_flags.end());
  all.insert(all.end(), flags.begin(), flags.end());
  std::unique_ptr<SpawnedProcess>& process =
      workers_.at(static_cast<std::size_t>(rank));
  process.reset();
  process = std::make_unique<SpawnedProcess>(kWorker, directory_, all);
  return *process;
}

void GroupJob::KillWorkers() {
  for (std::unique_ptr<SpawnedProcess>& worker : workers_) worker.reset();
}

std::string GroupJob::NameOf(int rank) { return absl::StrCat("rank-", rank); }

std::int64_t GroupJob::NewAttempt() {
  KillWorkers();
  ++attempt_;
  return shelf_.LastCheckpoint(workers());
}

std::int64_t GroupJob::StartAttempt(const std::vector<std::string>& flags) {
  const std::int64_t step = NewAttempt();
  std::vector<std::string> all = {"--from-checkpoint", absl::StrCat(step)};
  all.insert(all.end(), flags.begin(), flags.end());
  for (int rank = 0; rank < workers(); ++rank) StartWorker(rank, all);
  return step;
}

absl::StatusOr<SessionInfo> GroupJob::Session() {
  return connection_->GetSession({.name = kSession, .uid = ""});
}

bool GroupJob::HasVoted(int rank) {
  const absl::StatusOr<SessionInfo> session = Session();
  return session.ok() &&
         std::any_of(session->workers.begin(), session->workers.end(),
                     [&](const MemberView& view) {
                       return view.member.worker == NameOf(rank) &&
                              view.vote.has_value();
                     });
}

std::vector<Observation> GroupJob::Seen(int rank) const {
  std::vector<Observation> seen;
  for (History& history : ReadHistories(directory_)) {
    if (!history.name.starts_with(NameOf(rank) + ".")) continue;
    std::move(history.observations.begin(), history.observations.end(),
              std::back_inserter(seen));
  }
  return seen;
}

bool GroupJob::Await(const std::function<bool()>& condition) {
  return PollUntil(std::chrono::seconds(60), condition);
}

bool GroupJob::AwaitSeen(
    int rank, const std::function<bool(const Observation&)>& condition) const {
  return Await([&] {
    const std::vector<Observation> seen = Seen(rank);
    return std::any_of(seen.begin(), seen.end(), condition);
  });
}

bool GroupJob::AwaitDecided(int rank, std::int64_t step) const {
  return AwaitSeen(rank, [step](const Observation& seen) {
    return seen.event() == EVENT_DECIDED && seen.step() == step;
  });
}

absl::Status GroupJob::Restore(const LossScaler& scaler,
                               const std::string& request_id) {
  Observation presents;
  presents.set_event(EVENT_PRESENTS);
  presents.set_worker(kOperator);
  wire::ToProto(Checkpoint{.scaler = scaler}, presents.mutable_checkpoint());
  operator_history_->Write(presents);
  return connection_
      ->RestoreSession({.name = kSession, .uid = ""}, scaler, std::nullopt,
                       request_id)
      .status();
}

absl::StatusOr<std::vector<v1::Decision>> GroupJob::Journal() {
  std::vector<v1::Decision> journal;
  ListDecisionsCall call{.page_size = 1000};
  do {
    const absl::StatusOr<DecisionPage> page =
        connection_->ListDecisions({.name = kSession, .uid = ""}, call);
    if (!page.ok()) return page.status();
    for (const Decision& decision : page->decisions) {
      wire::ToProto(decision, &journal.emplace_back());
    }
    call.page_token = page->next_page_token;
  } while (!call.page_token.empty());
  std::reverse(journal.begin(), journal.end());
  return journal;
}

std::vector<std::string> GroupJob::Check() {
  // First what was seen: the journal may go on, but never lacks any of it.
  const std::vector<History> histories = ReadHistories(directory_);
  const absl::StatusOr<SessionInfo> session = Session();
  if (!session.ok()) return {session.status().ToString()};
  absl::StatusOr<std::vector<v1::Decision>> journal = Journal();
  if (!journal.ok()) return {journal.status().ToString()};
  return Violations({.uid = session->uid,
                     .initial = options_.scaler,
                     .config = options_.config,
                     .journal = *std::move(journal)},
                    histories);
}

}  // namespace lossscaler::testing
