// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Participant: one Participate stream, message by message, for tests.

#ifndef LOSSSCALER_TESTS_TESTING_PARTICIPANT_H_
#define LOSSSCALER_TESTS_TESTING_PARTICIPANT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/in_process_server.h"

namespace lossscaler::testing {

class Participant {
 public:
  // Half a minute bounds what a broken server could hang.
  explicit Participant(v1::LossScalerService::Stub* stub) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
    stream_ = stub->Participate(&context_);
  }
  ~Participant() {
    if (!finished_) {
      context_.TryCancel();
      Finish().IgnoreError();
    }
  }

  // Writing to a call that has ended does nothing; Finish() says why.
  void Send(const v1::ParticipateRequest& request) { stream_->Write(request); }
  void Open(const std::string& session, const std::string& worker,
            std::int64_t incarnation) {
    v1::ParticipateRequest request;
    request.mutable_open()->set_session(session);
    request.mutable_open()->set_worker(worker);
    request.mutable_open()->set_incarnation(incarnation);
    Send(request);
  }
  void Beat(std::int64_t sequence) {
    v1::ParticipateRequest request;
    request.mutable_heartbeat()->set_sequence(sequence);
    Send(request);
  }
  void Vote(std::int64_t sequence, std::int64_t step, const v1::Vote& vote) {
    v1::ParticipateRequest request;
    request.mutable_vote()->set_sequence(sequence);
    request.mutable_vote()->set_step(step);
    *request.mutable_vote()->mutable_vote() = vote;
    Send(request);
  }
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }

  // The next message; an empty one if the stream has ended.
  v1::ParticipateResponse Read() {
    v1::ParticipateResponse response;
    if (!stream_->Read(&response)) response.Clear();
    return response;
  }
  // The next answer to a vote; news of the membership are passed over.
  v1::VoteAnswer ReadVote() {
    while (true) {
      const v1::ParticipateResponse response = Read();
      if (response.has_vote()) return response.vote();
      if (!response.has_changed()) return {};
    }
  }

  // Reads what is left; how the stream ended.
  absl::Status Finish() {
    v1::ParticipateResponse rest;
    while (stream_->Read(&rest)) {
    }
    finished_ = true;
    return ToAbsl(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::ParticipateRequest, v1::ParticipateResponse>>
      stream_;
  bool finished_ = false;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_PARTICIPANT_H_
