// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Caller: one who has a call under way, and makes the next when it is
// answered.
//
// By generated stubs and callbacks: calls of the client library block, and a
// thousand of them would be a thousand threads.

#ifndef LOSSSCALER_TESTS_LOAD_CALLER_H_
#define LOSSSCALER_TESTS_LOAD_CALLER_H_

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "load/course.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "testing/call_status.h"

namespace lossscaler::load {

using Stub = v1::LossScalerService::Stub;

// A call that takes longer has failed.
inline constexpr std::chrono::minutes kPatience(1);

// Thread safety: one thread at a time.
class Caller {
 public:
  virtual ~Caller() = default;

  // The course counts the caller from here until it ends by itself.
  virtual void Start() = 0;

  // Ends the call under way, if it is one that lasts.
  virtual void Cancel() {}
};

// Makes calls of one kind that are answered once.
template <typename Request, typename Response>
class UnaryCaller : public Caller {
 public:
  using Method = void (Stub::async_interface::*)(
      grpc::ClientContext*, const Request*, Response*,
      std::function<void(grpc::Status)>);

  // Course and stub outlive it.
  UnaryCaller(Course* course, Kind kind, Stub* stub, Method method)
      : course_(course), kind_(kind), stub_(stub), method_(method) {}

  void Start() override {
    course_->Begin();
    Next();
  }

 protected:
  Course& course() { return *course_; }

  // Fills in the next request; false if there is none.
  virtual bool Ask(Request* request) = 0;
  // An error if the answer is not what it must be.
  virtual absl::Status Take(const Request& request,
                            const Response& response) = 0;

 private:
  void Next() {
    if (!Ask(&request_)) return course_->End();
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + kPatience);
    start_ = Course::Clock::now();
    (stub_->async()->*method_)(
        &*context_, &request_, &response_,
        [this](const grpc::Status& status) { Answered(status); });
  }

  void Answered(const grpc::Status& answered) {
    absl::Status status = testing::ToAbsl(answered);
    if (status.ok()) {
      course_->Answered(kind_, start_);
      status = Take(request_, response_);
    }
    if (status.ok()) return Next();
    course_->Failed(kind_, status);
    course_->End();
  }

  Course* const course_;
  const Kind kind_;
  Stub* const stub_;
  const Method method_;
  std::optional<grpc::ClientContext> context_;
  Request request_;
  Response response_;
  Course::Clock::time_point start_;
};

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_CALLER_H_
