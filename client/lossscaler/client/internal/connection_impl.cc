// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/connection_impl.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/internal/boottime_clock.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/malformed_answer.h"
#include "lossscaler/client/internal/progress_meter.h"
#include "lossscaler/client/internal/random_id.h"
#include "lossscaler/client/internal/session_info.h"
#include "lossscaler/client/internal/unscale_stream.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/wire_limits.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"

namespace lossscaler::internal {
namespace {

// Nobody waits longer for one attempt, whatever the options say.
constexpr absl::Duration kLongestAttempt = absl::Hours(24);

// gRPC refuses larger messages without saying which part was too large.
template <typename Message>
absl::Status CheckMessageSize(const Message& message, Reason reason,
                              std::string_view what) {
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes <= kMaxMessageBytes) return absl::OkStatus();
  return MakeError(
      reason,
      absl::StrCat("the message with ", std::string(what), " would have ",
                   bytes, " bytes; at most ", kMaxMessageBytes,
                   " can be sent: split them into several calls"),
      {{"bytes", absl::StrCat(bytes)},
       {"limit", absl::StrCat(kMaxMessageBytes)}});
}

absl::Status CheckVote(const Vote& vote) {
  absl::Status status = CheckText("base.session_uid", vote.base_session_uid);
  if (!vote.request_id.empty()) {
    status.Update(ValidateId("request_id", vote.request_id));
  }
  for (const std::string& id : vote.stream_ids) {
    status.Update(ValidateId("stream_ids", id));
  }
  return status;
}

absl::Status CheckIndices(const google::protobuf::RepeatedField<int>& indices,
                          int losses) {
  for (const int index : indices) {
    if (index >= 0 && index < losses) continue;
    return MalformedAnswer(
        "ScaleLoss", absl::StrCat("it flags loss ", index, " of ", losses),
        {{"index", absl::StrCat(index)}, {"losses", absl::StrCat(losses)}});
  }
  return absl::OkStatus();
}

// Whether `decision` can be what came of `vote`. Gradients that were not
// finite, or that another scale made, must never be applied.
absl::Status CheckDecision(const Decision& decision, const UpdateCall& call) {
  const Vote& vote = call.vote;
  if (call.step && decision.step != *call.step) {
    return MalformedAnswer("Update",
                           absl::StrCat("it decides step ", decision.step,
                                        " and not ", *call.step),
                           {{"got", absl::StrCat(decision.step)},
                            {"expected", absl::StrCat(*call.step)}});
  }
  if (!decision.apply()) return absl::OkStatus();
  if (vote.verdict != Verdict::kFinite && vote.verdict != Verdict::kUnset) {
    const std::string voted(VerdictName(vote.verdict));
    return MalformedAnswer(
        "Update", absl::StrCat("it says APPLY to a vote of ", voted),
        {{"step", absl::StrCat(decision.step)}, {"voted", voted}});
  }
  if (vote.scale_used && decision.scale_before != *vote.scale_used) {
    return MalformedAnswer(
        "Update",
        absl::StrCat("it says APPLY for scale ",
                     NumberText(decision.scale_before),
                     " to gradients made with ", NumberText(*vote.scale_used)),
        {{"step", absl::StrCat(decision.step)},
         {"scale", NumberText(decision.scale_before)},
         {"scale_used", NumberText(*vote.scale_used)}});
  }
  return absl::OkStatus();
}

// Whether a server refuses a call at large: after some of its tensors were
// divided that is no way to end.
bool RefusesAtLarge(const absl::Status& status) {
  const std::optional<Reason> reason = ReasonOf(status);
  return reason == Reason::kInvalidTensor || reason == Reason::kNoTensors ||
         reason == Reason::kTooManyTensors ||
         reason == Reason::kInvalidCredentials;
}

// gRPC wants a point in time, and infinite durations have none.
std::chrono::system_clock::time_point DeadlineIn(absl::Duration duration) {
  return std::chrono::system_clock::now() +
         absl::ToChronoNanoseconds(std::min(duration, kLongestAttempt));
}

std::size_t LargestPayload(const UnscalePlan& plan, std::size_t chunk_bytes) {
  std::size_t widening = 1;
  if (!plan.check_only) {
    for (const GradientTensor& tensor : plan.tensors) {
      widening = std::max(
          widening, ElementSize(tensor.output_type) / ElementSize(tensor.type));
    }
  }
  return std::clamp(chunk_bytes, std::size_t{8}, kMaxPayloadBytes / widening);
}

absl::Status CheckUnscaleChannels(int channels) {
  if (channels >= 1 && channels <= kMaxUnscaleChannels) return absl::OkStatus();
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat("unscale_channels is ", channels,
                   "; set ClientOptions::unscale_channels to 1 to ",
                   kMaxUnscaleChannels),
      {{"field", "unscale_channels"},
       {"got", absl::StrCat(channels)},
       {"limit", absl::StrCat(kMaxUnscaleChannels)}});
}

std::uint64_t InputBytes(const UnscalePlan& plan) {
  std::uint64_t bytes = 0;
  for (const GradientTensor& tensor : plan.tensors) {
    bytes += tensor.element_count() * ElementSize(tensor.type);
  }
  return bytes;
}

ServerLimits LimitsFromProto(const v1::ServerLimits& limits) {
  return {.max_sessions = limits.max_sessions(),
          .max_unscale_streams = limits.max_unscale_streams(),
          .max_bytes_in_flight = limits.max_bytes_in_flight(),
          .max_tensors_per_stream = limits.max_tensors_per_stream(),
          .max_chunk_bytes = limits.max_chunk_bytes(),
          .max_losses_per_call = limits.max_losses_per_call(),
          .replayable_decisions = limits.replayable_decisions(),
          .unscale_idle = absl::Milliseconds(limits.unscale_idle_millis()),
          .max_workers_per_session = limits.max_workers_per_session(),
          .max_watch_streams = limits.max_watch_streams(),
          .max_open_calls = limits.max_open_calls(),
          .max_parts_per_vote = limits.max_parts_per_vote()};
}

}  // namespace

ConnectionImpl::ConnectionImpl(std::shared_ptr<Stub> stub,
                               const ClientOptions& options)
    : stub_(std::move(stub)),
      options_(options),
      credentials_(CheckCredentials(options)),
      clock_(options.clock ? options.clock
                           : std::make_shared<BoottimeClock>()) {}

RetryLoop ConnectionImpl::StartLoop(std::string_view method,
                                    const ClientOptions& options) {
  return RetryLoop(method, options, clock_.get(), [] {
    static thread_local absl::InsecureBitGen generator;
    return absl::Uniform<double>(generator, 0.0, 1.0);
  });
}

template <typename Request, typename Response>
absl::Status ConnectionImpl::Call(std::string_view name,
                                  Method<Request, Response> method,
                                  const Request& request,
                                  Idempotency idempotency, Response* response) {
  return Retry(name, idempotency, [&](grpc::ClientContext* context) {
    response->Clear();
    return (stub_.get()->*method)(context, request, response);
  });
}

absl::Status ConnectionImpl::Retry(
    std::string_view name, Idempotency idempotency,
    const std::function<absl::Status(grpc::ClientContext*)>& attempt) {
  return RetryWithin(options_, name, idempotency, attempt);
}

absl::Status ConnectionImpl::RetryWithin(
    const ClientOptions& options, std::string_view name,
    Idempotency idempotency,
    const std::function<absl::Status(grpc::ClientContext*)>& attempt) {
  if (!credentials_.ok()) return credentials_;
  RetryLoop loop = StartLoop(name, options);
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(loop.AttemptTimeout()));
    AddHeaders(options_, &context);
    absl::Status status = attempt(&context);
    if (status.ok()) return status;
    status = loop.WaitAfter(status, idempotency);
    if (!status.ok()) return status;
  }
}

absl::StatusOr<SessionInfo> ConnectionImpl::CreateSession(
    const std::string& name, const LossScaler& scaler, IfExists if_exists) {
  absl::Status status = ValidateSessionName(name);
  if (!status.ok()) return status;
  v1::CreateSessionRequest request;
  request.set_session(name);
  request.set_kind(v1::SESSION_KIND_SOLO);
  wire::ToProto(scaler, request.mutable_scaler());
  request.set_if_exists(if_exists == IfExists::kReturnIfEqual
                            ? v1::IF_EXISTS_RETURN_IF_EQUAL
                            : v1::IF_EXISTS_FAIL);
  request.set_request_id(RandomId());
  v1::CreateSessionResponse response;
  status = Call("CreateSession", &Stub::CreateSession, request,
                Idempotency::kIdempotent, &response);
  if (!status.ok()) return status;
  return InfoFromProto("CreateSession", response.session());
}

absl::StatusOr<SessionInfo> ConnectionImpl::GetSession(
    const SessionRef& session) {
  absl::Status status = CheckSession(session);
  if (!status.ok()) return status;
  v1::GetSessionRequest request;
  SetSession(session, &request);
  v1::GetSessionResponse response;
  status = Call("GetSession", &Stub::GetSession, request,
                Idempotency::kIdempotent, &response);
  if (!status.ok()) return status;
  return InfoFromProto("GetSession", response.session());
}

absl::StatusOr<SessionPage> ConnectionImpl::ListSessions(
    const std::string& prefix, int page_size, const std::string& page_token) {
  absl::Status status = CheckText("prefix", prefix);
  status.Update(CheckText("page_token", page_token));
  if (!status.ok()) return status;
  v1::ListSessionsRequest request;
  request.set_prefix(prefix);
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  status = CheckMessageSize(request, Reason::kInvalidField, "the prefix");
  if (!status.ok()) return status;
  v1::ListSessionsResponse response;
  status = Call("ListSessions", &Stub::ListSessions, request,
                Idempotency::kIdempotent, &response);
  if (!status.ok()) return status;
  SessionPage page;
  page.next_page_token = response.next_page_token();
  for (const v1::Session& session : response.sessions()) {
    absl::StatusOr<SessionInfo> info = InfoFromProto("ListSessions", session);
    if (!info.ok()) return info.status();
    page.sessions.push_back(*std::move(info));
  }
  return page;
}

absl::Status ConnectionImpl::DeleteSession(const SessionRef& session) {
  absl::Status status = CheckSession(session);
  if (!status.ok()) return status;
  v1::DeleteSessionRequest request;
  SetSession(session, &request);
  request.set_request_id(RandomId());
  v1::DeleteSessionResponse response;
  return Call("DeleteSession", &Stub::DeleteSession, request,
              Idempotency::kIdempotent, &response);
}

absl::StatusOr<RestoreAnswer> ConnectionImpl::RestoreSession(
    const SessionRef& session, const LossScaler& state,
    std::optional<std::int64_t> if_epoch, const std::string& request_id) {
  absl::Status status = CheckSession(session);
  if (!request_id.empty()) status.Update(ValidateId("request_id", request_id));
  if (!status.ok()) return status;
  v1::RestoreSessionRequest request;
  SetSession(session, &request);
  wire::ToProto(state, request.mutable_state());
  if (if_epoch) request.set_if_epoch(*if_epoch);
  request.set_request_id(request_id.empty() ? RandomId() : request_id);
  v1::RestoreSessionResponse response;
  status = Call("RestoreSession", &Stub::RestoreSession, request,
                Idempotency::kIdempotent, &response);
  if (!status.ok()) return status;
  absl::StatusOr<Decision> decision =
      wire::DecisionFromProto(response.decision());
  if (!decision.ok()) {
    return MalformedAnswer("RestoreSession", decision.status());
  }
  absl::StatusOr<SessionInfo> info =
      InfoFromProto("RestoreSession", response.session());
  if (!info.ok()) return info.status();
  return RestoreAnswer{.decision = *std::move(decision),
                       .session = *std::move(info)};
}

absl::StatusOr<ScaleLossAnswer> ConnectionImpl::ScaleLoss(
    const ScaleLossCall& call) {
  absl::Status status = CheckSession(call.session);
  if (!status.ok()) return status;
  v1::ScaleLossRequest request;
  SetSession(call.session, &request);
  if (call.step) request.set_step(*call.step);
  request.mutable_losses()->Add(call.losses.begin(), call.losses.end());
  request.set_loss_type(wire::ToProto(call.loss_type));
  status = CheckMessageSize(request, Reason::kTooManyLosses, "the losses");
  if (!status.ok()) return status;
  v1::ScaleLossResponse response;
  status = Call("ScaleLoss", &Stub::ScaleLoss, request,
                Idempotency::kIdempotent, &response);
  if (!status.ok()) return status;

  if (response.scaled_losses_size() != request.losses_size()) {
    return MalformedAnswer(
        "ScaleLoss",
        absl::StrCat(response.scaled_losses_size(), " scaled losses for ",
                     request.losses_size()),
        {{"got", absl::StrCat(response.scaled_losses_size())},
         {"expected", absl::StrCat(request.losses_size())}});
  }
  if (call.step && response.step() != *call.step) {
    return MalformedAnswer("ScaleLoss",
                           absl::StrCat("it is about step ", response.step(),
                                        " and not ", *call.step),
                           {{"got", absl::StrCat(response.step())},
                            {"expected", absl::StrCat(*call.step)}});
  }
  status.Update(
      CheckIndices(response.non_finite_losses(), request.losses_size()));
  status.Update(
      CheckIndices(response.overflowing_losses(), request.losses_size()));
  if (!status.ok()) return status;
  ScaleLossAnswer answer;
  answer.scaled_losses.assign(response.scaled_losses().begin(),
                              response.scaled_losses().end());
  answer.scale = response.scale();
  answer.step = response.step();
  answer.epoch = response.epoch();
  answer.non_finite_losses.assign(response.non_finite_losses().begin(),
                                  response.non_finite_losses().end());
  answer.overflowing_losses.assign(response.overflowing_losses().begin(),
                                   response.overflowing_losses().end());
  return answer;
}

absl::StatusOr<v1::UnscaleOpen> ConnectionImpl::NextOpen(
    const UnscaleCall& call, const UnscalePlan& plan, UnscalePump* pump) const {
  v1::UnscaleOpen open;
  SetSession(call.session, &open);
  // A stream that goes on where another one broke belongs to the same step,
  // wherever the session stands now.
  if (call.step) open.set_step(*call.step);
  if (const auto opened = pump->opened()) open.set_step(opened->step);
  open.set_stream_id(RandomId());
  open.set_output_type(plan.keep_type ? v1::OUTPUT_TYPE_SAME
                                      : v1::OUTPUT_TYPE_WIDE);
  open.set_mode(plan.check_only ? v1::UNSCALE_MODE_CHECK_ONLY
                                : v1::UNSCALE_MODE_RETURN_GRADIENTS);
  open.set_max_chunk_bytes(
      static_cast<std::int64_t>(LargestPayload(plan, options_.chunk_bytes)));
  open.set_skip_statistics(call.skip_statistics);
  open.set_worker(call.worker.worker);
  open.set_incarnation(call.worker.incarnation);
  for (const TensorRest& rest : pump->BeginStream()) {
    const GradientTensor& tensor = plan.tensors[rest.index];
    const auto count = static_cast<std::int64_t>(tensor.element_count());
    v1::TensorSpec* spec = open.add_tensors();
    spec->set_name(tensor.name);
    spec->set_type(wire::ToProto(tensor.type));
    spec->set_element_count(count);
    if (rest.offset > 0) {
      v1::ElementRange* range = spec->add_ranges();
      range->set_offset(static_cast<std::int64_t>(rest.offset));
      range->set_count(count - static_cast<std::int64_t>(rest.offset));
    }
  }
  absl::Status status =
      CheckMessageSize(open, Reason::kTooManyTensors, "the tensors' names");
  if (!status.ok()) return status;
  return open;
}

absl::StatusOr<UnscaleAnswer> ConnectionImpl::Unscale(const UnscaleCall& call) {
  absl::Status status = CheckSession(call.session);
  status.Update(CheckUnscaleChannels(options_.unscale_channels));
  if (!status.ok()) return status;
  const absl::StatusOr<UnscalePlan> plan = PlanUnscale(call.tensors);
  if (!plan.ok()) return plan.status();
  if (!credentials_.ok()) return credentials_;
  PumpOptions pump_options{
      .chunk_bytes = LargestPayload(*plan, options_.chunk_bytes),
      .max_chunks_in_flight = options_.max_chunks_in_flight,
      .statistics = !call.skip_statistics,
      .step = call.step};
  ProgressMeter meter(call.on_progress, InputBytes(*plan), clock_.get());
  if (call.on_progress) {
    pump_options.watch = [&meter](std::uint64_t bytes) { meter.Note(bytes); };
    pump_options.watch_interval = ProgressMeter::kInterval;
  }
  UnscalePump pump(*plan, pump_options);

  RetryLoop loop = StartLoop("Unscale", options_);
  for (;;) {
    const std::uint64_t answers_before = pump.answers();
    absl::StatusOr<v1::UnscaleOpen> open = NextOpen(call, *plan, &pump);
    if (!open.ok()) return open.status();
    status = RunUnscaleStream(&pump, *std::move(open), stub_.get(), options_,
                              loop.Within(options_.stream_stall_timeout));
    if (status.ok()) break;
    if (!IsRetryable(status, Idempotency::kIdempotent)) {
      if (pump.answers() > 0 && RefusesAtLarge(status)) {
        status = MalformedAnswer("Unscale", status);
      }
      return loop.WaitAfter(status, Idempotency::kIdempotent);
    }
    // A stream that breaks after its last answer has done its work.
    if (pump.complete()) break;
    if (pump.answers() != answers_before) loop.NoteProgress();
    status = loop.WaitAfter(status, Idempotency::kIdempotent);
    if (!status.ok()) return status;
  }
  meter.Finish();
  return UnscaleAnswer{.scale = pump.opened()->scale,
                       .step = pump.opened()->step,
                       .epoch = pump.opened()->epoch,
                       .tensors = pump.verdicts()};
}

absl::StatusOr<UpdateAnswer> ConnectionImpl::Update(const UpdateCall& call) {
  absl::Status status = CheckSession(call.session);
  status.Update(CheckVote(call.vote));
  if (!status.ok()) return status;
  v1::UpdateRequest request;
  SetSession(call.session, &request);
  if (call.step) request.set_step(*call.step);
  wire::VoteToRequest(call.vote, &request);
  status = CheckMessageSize(request, Reason::kInvalidField, "the stream ids");
  if (!status.ok()) return status;

  v1::UpdateResponse response;
  if (call.single_attempt) {
    if (!credentials_.ok()) return credentials_;
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(*call.single_attempt));
    AddHeaders(options_, &context);
    status = stub_->Update(&context, request, &response);
  } else {
    const bool idempotent = call.step || !call.vote.request_id.empty();
    status = Call(
        "Update", &Stub::Update, request,
        idempotent ? Idempotency::kIdempotent : Idempotency::kNonIdempotent,
        &response);
  }
  if (!status.ok()) return status;

  absl::StatusOr<Decision> decision =
      wire::DecisionFromProto(response.decision());
  if (!decision.ok()) return MalformedAnswer("Update", decision.status());
  status = CheckDecision(*decision, call);
  if (!status.ok()) return status;
  return UpdateAnswer{.decision = *std::move(decision),
                      .current = wire::CurrentFromProto(response.current())};
}

absl::StatusOr<ServerInfo> ConnectionImpl::GetServerInfo() {
  const v1::GetServerInfoRequest request;
  v1::GetServerInfoResponse response;
  absl::Status status = Call("GetServerInfo", &Stub::GetServerInfo, request,
                             Idempotency::kIdempotent, &response);
  if (!status.ok()) return status;
  ServerInfo info;
  info.version = response.version();
  info.features.assign(response.features().begin(), response.features().end());
  info.store = response.store();
  info.durability = response.durability();
  info.start_count = response.start_count();
  info.sessions = response.sessions();
  info.limits = LimitsFromProto(response.limits());
  return info;
}

}  // namespace lossscaler::internal

namespace lossscaler {

std::shared_ptr<Connection> MakeConnection(const ClientOptions& options) {
  return std::make_shared<internal::ConnectionImpl>(internal::MakeStub(options),
                                                    options);
}

// Here and not in client.cc, so that everything else of Client needs no gRPC.
Client::Client(const ClientOptions& options)
    : connection_(MakeConnection(options)) {}

}  // namespace lossscaler
