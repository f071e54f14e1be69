// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/coordination/raw_group.h"

#include "grpcpp/client_context.h"

namespace lossscaler::bench {

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

absl::Status OpenGroup(v1::LossScalerService::Stub* stub,
                       const std::string& session, int workers) {
  v1::CreateSessionRequest request;
  request.set_session(session);
  request.set_kind(v1::SESSION_KIND_GROUP);
  request.set_if_exists(v1::IF_EXISTS_RETURN_IF_EQUAL);
  v1::DynamicScaler* const scaler = request.mutable_scaler()->mutable_dynamic();
  scaler->set_scale(65536);
  scaler->set_growth_factor(2);
  scaler->set_backoff_factor(0.5);
  scaler->set_growth_interval(2000);
  request.mutable_group()->set_max_workers(workers);
  request.mutable_group()->mutable_lease_ttl()->set_seconds(3600);
  grpc::ClientContext context;
  v1::CreateSessionResponse response;
  return ToAbsl(stub->CreateSession(&context, request, &response));
}

absl::StatusOr<v1::ParticipateOpen> Join(v1::LossScalerService::Stub* stub,
                                         const std::string& session,
                                         const std::string& worker) {
  v1::JoinSessionRequest request;
  request.set_session(session);
  request.set_worker(worker);
  request.set_request_id(worker);
  grpc::ClientContext context;
  v1::JoinSessionResponse response;
  if (absl::Status status =
          ToAbsl(stub->JoinSession(&context, request, &response));
      !status.ok()) {
    return status;
  }
  v1::ParticipateOpen open;
  open.set_session(session);
  open.set_session_uid(response.session_uid());
  open.set_worker(worker);
  open.set_incarnation(response.incarnation());
  return open;
}

v1::StreamVote FiniteVote(const v1::ParticipateOpen& worker,
                          const v1::Current& current) {
  v1::StreamVote message;
  message.set_sequence(current.step());
  message.set_step(current.step());
  v1::Vote* const vote = message.mutable_vote();
  vote->set_verdict(v1::VERDICT_FINITE);
  vote->set_scale_used(current.scale());
  vote->set_base(current.base());
  vote->set_base_session_uid(worker.session_uid());
  vote->set_sum_of_squares(1);
  return message;
}

}  // namespace lossscaler::bench
