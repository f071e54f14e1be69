// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/calls/race.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/process/cpu_time.h"
#include "bench/process/worker_process.h"
#include "bench/report/rounds.h"
#include "bench/report/statistics.h"

namespace lossscaler::bench {
namespace {

// A contestant's client, connected to its server.
class Member {
 public:
  static absl::StatusOr<Member> Start(const Contestant& contestant,
                                      int callers) {
    absl::StatusOr<std::unique_ptr<WorkerProcess>> client =
        WorkerProcess::Start({Beside("calls_worker"), contestant.recipe,
                              contestant.address, absl::StrCat(callers)});
    if (!client.ok()) return client.status();
    if (absl::Status status = (*client)->Receive().status(); !status.ok()) {
      return status;
    }
    return Member(*std::move(client), contestant.server);
  }

  absl::StatusOr<RoundResult> Run(std::int64_t calls) {
    const absl::StatusOr<std::int64_t> server = CpuNanosecondsOf(server_);
    const absl::StatusOr<std::int64_t> client =
        CpuNanosecondsOf(client_->pid());
    if (!server.ok()) return server.status();
    if (!client.ok()) return client.status();
    if (absl::Status status = client_->Tell(calls); !status.ok()) return status;
    const absl::StatusOr<std::vector<std::int64_t>> nanoseconds =
        client_->Receive();
    if (!nanoseconds.ok()) return nanoseconds.status();
    const absl::StatusOr<std::int64_t> server_after = CpuNanosecondsOf(server_);
    const absl::StatusOr<std::int64_t> client_after =
        CpuNanosecondsOf(client_->pid());
    if (!server_after.ok()) return server_after.status();
    if (!client_after.ok()) return client_after.status();
    const std::vector<double> taken(nanoseconds->begin() + 1,
                                    nanoseconds->end());
    const auto count = static_cast<double>(calls);
    return RoundResult{
        .calls_per_second =
            count * 1e9 / static_cast<double>(nanoseconds->front()),
        .p50 = Percentile(taken, 0.5) / 1e3,
        .p99 = Percentile(taken, 0.99) / 1e3,
        .server_us_per_call =
            static_cast<double>(*server_after - *server) / 1e3 / count,
        .client_us_per_call =
            static_cast<double>(*client_after - *client) / 1e3 / count};
  }

 private:
  Member(std::unique_ptr<WorkerProcess> client, pid_t server)
      : client_(std::move(client)), server_(server) {}

  std::unique_ptr<WorkerProcess> client_;
  pid_t server_;
};

}  // namespace

std::vector<double> RaceResult::Of(std::string_view name,
                                   double RoundResult::*figure) const {
  const auto found = std::find(names.begin(), names.end(), name);
  std::vector<double> figures;
  for (const RoundResult& round :
       rounds[static_cast<std::size_t>(found - names.begin())]) {
    figures.push_back(round.*figure);
  }
  return figures;
}

absl::StatusOr<RaceResult> Run(const RaceOptions& options,
                               const std::vector<Contestant>& contestants) {
  RaceResult result{.options = options, .names = {}, .rounds = {}};
  std::vector<Member> members;
  std::vector<std::int64_t> calls;
  for (const Contestant& contestant : contestants) {
    absl::StatusOr<Member> member = Member::Start(contestant, options.callers);
    if (!member.ok()) return member.status();
    const std::int64_t fit =
        options.calls_per_round / (contestant.slow ? 5 : 1);
    if (absl::Status warm = member->Run(fit).status(); !warm.ok()) return warm;
    result.names.push_back(contestant.name);
    members.push_back(*std::move(member));
    calls.push_back(fit);
  }
  std::vector<std::function<absl::StatusOr<RoundResult>()>> measures;
  for (std::size_t i = 0; i < members.size(); ++i) {
    measures.emplace_back(
        [&member = members[i], count = calls[i]] { return member.Run(count); });
  }
  absl::StatusOr<std::vector<std::vector<RoundResult>>> rounds =
      Interleave(options.rounds, measures);
  if (!rounds.ok()) return rounds.status();
  result.rounds = *std::move(rounds);
  return result;
}

}  // namespace lossscaler::bench
