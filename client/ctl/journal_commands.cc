// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/journal_commands.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ctl/decision_printing.h"
#include "ctl/exit_code.h"
#include "ctl/failure.h"
#include "ctl/session_lookup.h"

namespace lossscaler::ctl {
namespace {

// As in the proto.
constexpr std::int64_t kLargestPage = 1000;

// Newest first.
absl::StatusOr<std::vector<Decision>> List(Connection& connection,
                                           const DecisionsRequest& request) {
  const SessionRef session = {.name = request.session, .uid = ""};
  std::vector<Decision> decisions;
  ListDecisionsCall call;
  call.iteration = request.iteration;
  for (;;) {
    const std::int64_t wanted =
        request.limit - static_cast<std::int64_t>(decisions.size());
    call.page_size = static_cast<int>(std::min(wanted, kLargestPage));
    absl::StatusOr<DecisionPage> page = connection.ListDecisions(session, call);
    if (!page.ok()) return page.status();
    for (Decision& decision : page->decisions) {
      if (request.from_step && decision.step < *request.from_step) {
        return decisions;
      }
      decisions.push_back(std::move(decision));
      if (static_cast<std::int64_t>(decisions.size()) == request.limit) {
        return decisions;
      }
    }
    if (page->next_page_token.empty()) return decisions;
    call.page_token = std::move(page->next_page_token);
  }
}

int TellStory(const Environment& environment, Connection& connection,
              const DecisionsRequest& request, Format format) {
  const absl::StatusOr<SessionInfo> session =
      connection.GetSession({.name = request.session, .uid = ""});
  if (!session.ok()) return Fail(environment, format, session.status());
  const absl::StatusOr<Decision> decision =
      FindDecision(connection, *session, *request.step);
  if (!decision.ok()) return Fail(environment, format, decision.status());
  environment.out << (format == Format::kJson
                          ? StoryJson(*decision, *session) + "\n"
                          : StoryText(*decision, *session));
  return kDone;
}

}  // namespace

int Watch(const Environment& environment, Connection& connection,
          const WatchRequest& request, Format format) {
  // Once named, the session is not mistaken for another of its name.
  const absl::StatusOr<SessionInfo> session =
      connection.GetSession({.name = request.session, .uid = ""});
  if (!session.ok()) return Fail(environment, format, session.status());
  std::int64_t seen = 0;
  const absl::Status status = connection.WatchSession(
      {.name = session->name, .uid = session->uid},
      {.from_step = request.from_step.value_or(session->current.step)},
      [&](const Decision& decision) {
        environment.out << (format == Format::kJson ? DecisionLineJson(decision)
                                                    : DecisionLine(decision))
                        << std::endl;
        return environment.out.good() && ++seen != request.count;
      });
  return status.ok() ? kDone : Fail(environment, format, status);
}

int Decisions(const Environment& environment, Connection& connection,
              const DecisionsRequest& request, Format format) {
  if (request.step) return TellStory(environment, connection, request, format);
  const absl::StatusOr<std::vector<Decision>> decisions =
      List(connection, request);
  if (!decisions.ok()) return Fail(environment, format, decisions.status());
  environment.out << (format == Format::kJson ? DecisionsJson(*decisions) + "\n"
                                              : DecisionsText(*decisions));
  return kDone;
}

}  // namespace lossscaler::ctl
