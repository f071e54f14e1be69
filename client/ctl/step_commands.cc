// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/step_commands.h"

#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ctl/decision_printing.h"
#include "ctl/exit_code.h"
#include "ctl/failure.h"
#include "ctl/printing.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

// The call of `request`. A base means a step of one session, and a step that
// was not named must be: both ask the server first.
absl::StatusOr<UpdateCall> MakeCall(Connection& connection,
                                    const UpdateRequest& request) {
  UpdateCall call;
  call.session.name = request.session;
  call.step = request.step;
  call.vote.verdict = request.verdict;
  call.vote.base = request.base;
  call.vote.scale_used = request.scale_used;
  call.vote.iteration = request.iteration;
  if (request.step && !request.base) return call;
  const absl::StatusOr<SessionInfo> info = connection.GetSession(call.session);
  if (!info.ok()) return info.status();
  call.session.uid = info->uid;
  if (!call.step) call.step = info->current.step;
  if (call.vote.base) call.vote.base_session_uid = info->uid;
  return call;
}

}  // namespace

int Scale(const Environment& environment, Connection& connection,
          const ScaleRequest& request, Format format) {
  const absl::StatusOr<ScaleLossAnswer> answer =
      connection.ScaleLoss({.session = {.name = request.session, .uid = ""},
                            .step = request.step,
                            .losses = request.losses,
                            .loss_type = request.loss_type});
  if (!answer.ok()) return Fail(environment, format, answer.status());
  if (answer->scaled_losses.size() != request.losses.size()) {
    return Fail(environment, format,
                MakeError(Reason::kMalformedAnswer,
                          absl::StrCat(answer->scaled_losses.size(),
                                       " scaled losses came back for ",
                                       request.losses.size())));
  }
  const ScaledLossList list = {.losses = request.losses,
                               .loss_type = request.loss_type,
                               .answer = *answer};
  environment.out << (format == Format::kJson ? ScaledJson(list) + "\n"
                                              : ScaledText(list));
  return kDone;
}

int Update(const Environment& environment, Connection& connection,
           const UpdateRequest& request, Format format) {
  const absl::StatusOr<UpdateCall> call = MakeCall(connection, request);
  if (!call.ok()) return Fail(environment, format, call.status());
  const absl::StatusOr<UpdateAnswer> answer = connection.Update(*call);
  if (!answer.ok()) return Fail(environment, format, answer.status());
  environment.out << (format == Format::kJson
                          ? DecidedJson(answer->decision, answer->current) +
                                "\n"
                          : DecidedText(answer->decision, answer->current));
  return kDone;
}

}  // namespace lossscaler::ctl
