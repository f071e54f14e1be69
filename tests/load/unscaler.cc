// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/unscaler.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/support/client_callback.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::load {
namespace {

constexpr std::int64_t kElementsPerChunk = 16'384;
constexpr int kChunks = 4;

std::string BytesOfFloats(float value) {
  const std::vector<float> values(kElementsPerChunk, value);
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// One stream, message by message. Deletes itself when done.
class Stream final
    : public grpc::ClientBidiReactor<v1::UnscaleRequest, v1::UnscaleResponse> {
 public:
  using Done = std::function<void(const absl::Status&)>;

  Stream(Stub* stub, const v1::UnscaleOpen& open, Done done)
      : done_(std::move(done)) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    *request_.mutable_open() = open;
    stub->async()->Unscale(&context_, this);
    StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }

 private:
  void OnWriteDone(bool ok) override { Landed(ok); }
  void OnReadDone(bool ok) override { Landed(ok); }

  // Each message is answered by one; either side may hear of it first.
  void Landed(bool ok) {
    {
      MutexLock lock(&mutex_);
      intact_ = intact_ && ok;
      if (++landed_ < 2) return;
      landed_ = 0;
      if (!intact_) return;
    }
    if (!Check()) return context_.TryCancel();
    if (sent_ == kChunks) {
      if (response_.has_summary()) return;
      {
        MutexLock lock(&mutex_);
        landed_ = 1;
      }
      StartWritesDone();
      return StartRead(&response_);
    }
    v1::UnscaleChunk& chunk = *request_.mutable_chunk();
    chunk.set_offset(sent_++ * kElementsPerChunk);
    if (chunk.data().empty()) chunk.set_data(BytesOfFloats(kFixedScale));
    StartWrite(&request_);
    StartRead(&response_);
  }

  bool Check() {
    static const std::string* const ones = new std::string(BytesOfFloats(1));
    if (response_.has_opened()) return true;
    if (response_.has_chunk()) {
      const v1::UnscaledChunk& chunk = response_.chunk();
      if (chunk.data() == *ones && !chunk.verdict().overflow()) return true;
    }
    if (response_.has_summary() &&
        response_.summary().element_count() == kChunks * kElementsPerChunk) {
      summed_up_ = true;
      return true;
    }
    wrong_ = absl::DataLossError("gradients of 3 at scale 3 did not become 1");
    return false;
  }

  void OnDone(const grpc::Status& status) override {
    absl::Status ended = wrong_.ok() ? testing::ToAbsl(status) : wrong_;
    if (ended.ok() && !summed_up_) {
      ended = absl::DataLossError("the stream ended without a summary");
    }
    const Done done = std::move(done_);
    delete this;
    done(ended);
  }

  Done done_;
  grpc::ClientContext context_;
  v1::UnscaleRequest request_;
  v1::UnscaleResponse response_;
  int sent_ = 0;
  bool summed_up_ = false;
  absl::Status wrong_;

  Mutex mutex_;
  int landed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool intact_ ABSL_GUARDED_BY(mutex_) = true;
};

class Unscaler : public Caller {
 public:
  Unscaler(Course* course, Stub* stub, LoadSession* session)
      : course_(course), stub_(stub), session_(session) {}

  void Start() override {
    course_->Begin();
    Next();
  }

 private:
  void Next() {
    if (course_->stopping()) return course_->End();
    v1::UnscaleOpen open;
    open.set_session(session_->name);
    open.set_session_uid(session_->uid);
    open.set_step(session_->step);
    open.set_stream_id(absl::StrCat("s", session_->step));
    open.set_max_chunk_bytes(kElementsPerChunk * sizeof(float));
    v1::TensorSpec* const tensor = open.add_tensors();
    tensor->set_type(v1::ELEMENT_TYPE_FLOAT32);
    tensor->set_element_count(kChunks * kElementsPerChunk);
    // It ends by calling back, and deletes itself then.
    new Stream(
        stub_, open,
        [this, start = Course::Clock::now()](const absl::Status& status) {
          if (!status.ok()) return Fail(status);
          course_->Answered(Kind::kUnscale, start);
          Update();
        });
  }

  void Update() {
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + kPatience);
    request_.set_session(session_->name);
    request_.set_session_uid(session_->uid);
    request_.set_step(session_->step);
    request_.clear_stream_ids();
    request_.add_stream_ids(absl::StrCat("s", session_->step));
    start_ = Course::Clock::now();
    stub_->async()->Update(&*context_, &request_, &response_,
                           [this](const grpc::Status& status) {
                             Updated(testing::ToAbsl(status));
                           });
  }

  void Updated(const absl::Status& status) {
    if (!status.ok()) return Fail(status);
    course_->Answered(Kind::kUpdate, start_);
    if (response_.decision().step() != session_->step ||
        response_.decision().outcome() != v1::OUTCOME_APPLY) {
      return Fail(absl::DataLossError(
          absl::StrCat("step ", session_->step, " of ", session_->name,
                       " has another decision than it must have")));
    }
    ++session_->acknowledged;
    session_->step = response_.current().step();
    Next();
  }

  void Fail(const absl::Status& status) {
    course_->Failed(Kind::kUnscale, status);
    course_->End();
  }

  Course* const course_;
  Stub* const stub_;
  LoadSession* const session_;
  std::optional<grpc::ClientContext> context_;
  v1::UpdateRequest request_;
  v1::UpdateResponse response_;
  Course::Clock::time_point start_;
};

}  // namespace

std::unique_ptr<Caller> MakeUnscaler(Course* course, Stub* stub,
                                     LoadSession* session) {
  return std::make_unique<Unscaler>(course, stub, session);
}

}  // namespace lossscaler::load
