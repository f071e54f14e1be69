// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/group_calls.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/wire_limits.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "rpc/translate.h"
#include "sessions/session.h"

namespace lossscaler::server {
namespace {

constexpr int kDefaultDecisions = 100;
constexpr int kMaxDecisions = 1000;
// Read from the journal at a time, so that a page of decisions with many votes
// is cut before they are all in memory.
constexpr int kReadAtOnce = 32;
// Leaves room for the page token.
constexpr std::size_t kMaxDecisionBytes =
    static_cast<std::size_t>(kMaxMessageBytes) - 1024;

// The step of a page token; unset if it is none.
std::optional<std::int64_t> StepOfToken(const std::string& token) {
  std::int64_t step = 0;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, step);
  if (error != std::errc() || stop != end || step < 1) return std::nullopt;
  return step;
}

absl::StatusOr<DecisionQuery> QueryOf(const v1::ListDecisionsRequest& request) {
  DecisionQuery query;
  if (request.page_size() < 0 || request.page_size() > kMaxDecisions) {
    return BadField("page_size", absl::StrCat(request.page_size()),
                    absl::StrCat("it must be between 0 and ", kMaxDecisions));
  }
  query.limit =
      request.page_size() == 0 ? kDefaultDecisions : request.page_size();
  if (!request.page_token().empty()) {
    // The last step of the page before.
    query.before_step = StepOfToken(request.page_token());
    if (!query.before_step) {
      return BadField("page_token", Quoted(request.page_token()),
                      "use the next_page_token of the page before, with the "
                      "same filter");
    }
  }
  if (request.has_step()) {
    if (request.step() < 1) {
      return BadField("step", absl::StrCat(request.step()), "steps begin at 1");
    }
    query.step = request.step();
  }
  if (request.has_iteration()) {
    if (request.iteration() < 0) {
      return BadField("iteration", absl::StrCat(request.iteration()),
                      "iterations begin at 0");
    }
    query.iteration = request.iteration();
  }
  return query;
}

}  // namespace

void JoinSession(Registry* registry, const v1::JoinSessionRequest& request,
                 v1::JoinSessionResponse* response, const Finisher& finish) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(registry, request);
  if (!session.ok()) return finish(session.status());
  absl::StatusOr<JoinEvent> join = wire::JoinFromRequest(request);
  if (!join.ok()) return finish(join.status());
  (*session)->Join(
      *std::move(join),
      [response, finish](const absl::StatusOr<JoinAnswer>& answer) {
        if (answer.ok()) {
          response->set_incarnation(answer->incarnation);
          response->set_resume_token(answer->resume_token);
          *response->mutable_lease_ttl() = wire::ToProto(answer->lease_ttl);
          wire::ToProto(answer->membership, response->mutable_membership());
          if (answer->last_decision) {
            wire::ToProto(*answer->last_decision,
                          response->mutable_last_decision());
          }
          response->set_session_uid(answer->session_uid);
        }
        finish(answer.status());
      });
}

void LeaveSession(Registry* registry, const v1::LeaveSessionRequest& request,
                  const Finisher& finish) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(registry, request);
  if (!session.ok()) return finish(session.status());
  absl::StatusOr<WorkerRef> worker =
      wire::WorkerRefOf(request.worker(), request.incarnation());
  if (!worker.ok()) return finish(worker.status());
  (*session)->Leave(*std::move(worker), finish);
}

absl::Status ListDecisions(Registry* registry,
                           const v1::ListDecisionsRequest& request,
                           v1::ListDecisionsResponse* response) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(registry, request);
  if (!session.ok()) return session.status();
  absl::StatusOr<DecisionQuery> query = QueryOf(request);
  if (!query.ok()) return query.status();
  // One more says whether there is a next page.
  const int limit = query->limit;
  std::size_t bytes = 0;
  while (true) {
    query->limit =
        std::min(kReadAtOnce, limit + 1 - response->decisions_size());
    const absl::StatusOr<std::vector<Decision>> read =
        (*session)->ListDecisions(*query);
    if (!read.ok()) return read.status();
    for (const Decision& decision : *read) {
      v1::Decision proto;
      wire::ToProto(decision, &proto);
      // What a repeated message takes besides its own bytes: tag and length.
      bytes += proto.ByteSizeLong() + 6;
      const int taken = response->decisions_size();
      if (taken == limit || (taken > 0 && bytes > kMaxDecisionBytes)) {
        response->set_next_page_token(absl::StrCat(*query->before_step));
        return absl::OkStatus();
      }
      *response->add_decisions() = std::move(proto);
      query->before_step = decision.step;
    }
    if (query->step || static_cast<int>(read->size()) < query->limit) {
      return absl::OkStatus();
    }
  }
}

}  // namespace lossscaler::server
