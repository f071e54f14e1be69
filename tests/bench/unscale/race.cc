// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/unscale/race.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/process/cpu_time.h"
#include "bench/process/worker_process.h"
#include "bench/report/rounds.h"

namespace lossscaler::bench {
namespace {

constexpr std::size_t kPage = 4096;

// A contestant's client, connected to its server.
class Member {
 public:
  static absl::StatusOr<Member> Start(std::string_view recipe,
                                      const RaceOptions& options,
                                      const Server& server,
                                      std::size_t bytes_per_stream) {
    absl::StatusOr<std::unique_ptr<WorkerProcess>> client =
        WorkerProcess::Start(
            {Beside("unscale_worker"), std::string(recipe),
             options.check_only ? "check" : "return", server.addresses.front(),
             absl::StrCat(options.chunk_bytes), absl::StrCat(options.streams),
             absl::StrCat(bytes_per_stream)});
    if (!client.ok()) return client.status();
    if (absl::Status status = (*client)->Receive().status(); !status.ok()) {
      return status;
    }
    return Member(*std::move(client), server.process->pid(), options.streams);
  }

  absl::StatusOr<RoundResult> Run(std::size_t bytes_per_stream) {
    const absl::StatusOr<std::int64_t> server = CpuNanosecondsOf(server_);
    const absl::StatusOr<std::int64_t> client =
        CpuNanosecondsOf(client_->pid());
    if (!server.ok()) return server.status();
    if (!client.ok()) return client.status();
    if (absl::Status status =
            client_->Tell(static_cast<std::int64_t>(bytes_per_stream));
        !status.ok()) {
      return status;
    }
    const absl::StatusOr<std::vector<std::int64_t>> nanoseconds =
        client_->Receive();
    if (!nanoseconds.ok()) return nanoseconds.status();
    const absl::StatusOr<std::int64_t> server_after = CpuNanosecondsOf(server_);
    const absl::StatusOr<std::int64_t> client_after =
        CpuNanosecondsOf(client_->pid());
    if (!server_after.ok()) return server_after.status();
    if (!client_after.ok()) return client_after.status();
    const auto bytes = static_cast<double>(bytes_per_stream * streams_);
    return RoundResult{
        .gigabytes_per_second =
            bytes / static_cast<double>(nanoseconds->front()),
        .server_ns_per_byte =
            static_cast<double>(*server_after - *server) / bytes,
        .client_ns_per_byte =
            static_cast<double>(*client_after - *client) / bytes};
  }

 private:
  Member(std::unique_ptr<WorkerProcess> client, pid_t server,
         std::size_t streams)
      : client_(std::move(client)), server_(server), streams_(streams) {}

  std::unique_ptr<WorkerProcess> client_;
  pid_t server_;
  std::size_t streams_;
};

std::vector<std::string_view> TakingPart(const RaceOptions& options) {
  if (options.check_only) return {kLibrary, kSink};
  std::vector<std::string_view> recipes = {kLibrary, kEcho, kPlain};
  // What is between them and us is the client's copy, or the values.
  if (options.has_targets()) recipes.push_back(kKeptEcho);
  return recipes;
}

}  // namespace

bool RaceOptions::has_targets() const {
  return streams == 1 && chunk_bytes == std::size_t{1} << 20;
}

std::vector<double> RaceResult::Of(std::string_view name,
                                   double RoundResult::*figure) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  std::vector<double> figures;
  for (const RoundResult& round :
       rounds[static_cast<std::size_t>(found - names.begin())]) {
    figures.push_back(round.*figure);
  }
  return figures;
}

absl::StatusOr<RaceResult> Run(const RaceOptions& options,
                               const Servers& servers) {
  const std::size_t bytes =
      options.bytes_per_round / options.streams / kPage * kPage;
  RaceResult result{.options = options, .names = {}, .rounds = {}};
  std::vector<Member> members;
  for (const std::string_view recipe : TakingPart(options)) {
    absl::StatusOr<Member> member = Member::Start(
        recipe, options, servers.Of(recipe, options.transport), bytes);
    if (!member.ok()) return member.status();
    if (absl::Status warm = member->Run(bytes / 4).status(); !warm.ok()) {
      return warm;
    }
    result.names.emplace_back(recipe);
    members.push_back(*std::move(member));
  }
  std::vector<std::function<absl::StatusOr<RoundResult>()>> measures;
  for (Member& member : members) {
    measures.emplace_back([&member, bytes] { return member.Run(bytes); });
  }
  absl::StatusOr<std::vector<std::vector<RoundResult>>> rounds =
      Interleave(options.rounds, measures);
  if (!rounds.ok()) return rounds.status();
  result.rounds = *std::move(rounds);
  return result;
}

}  // namespace lossscaler::bench
