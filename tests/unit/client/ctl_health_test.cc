// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "ctl/health.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsError;
using ::testing::HasSubstr;

// Ends every call, of whatever service, with a status, and notes how long the
// caller would have waited.
class Refuser : public grpc::CallbackGenericService {
 public:
  explicit Refuser(const grpc::Status& status) : status_(status) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    patience_millis_ =
        std::chrono::duration_cast<std::chrono::milliseconds>(
            context->deadline() - std::chrono::system_clock::now())
            .count();
    return new Reactor(status_);
  }

  // Of the latest caller.
  std::int64_t patience_millis() const { return patience_millis_; }

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(const grpc::Status& status) { Finish(status); }
    void OnDone() override { delete this; }
  };

  const grpc::Status status_;
  std::atomic<std::int64_t> patience_millis_ = 0;
};

class HealthTest : public ::testing::Test {
 protected:
  void Start(const grpc::Status& status) {
    refuser_ = std::make_unique<Refuser>(status);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options_.address,
                             grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(refuser_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  testing::TempDirectory directory_;
  const ClientOptions options_ = {
      .address = absl::StrCat("unix:", directory_.path(), "/s")};
  std::unique_ptr<Refuser> refuser_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(HealthTest, AServerThatRefusesIsNotOneThatIsAway) {
  for (const auto code : {grpc::StatusCode::UNAUTHENTICATED,
                          grpc::StatusCode::PERMISSION_DENIED}) {
    server_.reset();
    Start({code, "who are you?"});
    const auto serving = IsServing(options_, absl::Seconds(10));
    EXPECT_THAT(serving, HasCode(static_cast<absl::StatusCode>(code)));
    EXPECT_EQ(std::string(serving.status().message()), "who are you?");
  }
}

TEST_F(HealthTest, AServerMayOfferNoHealthService) {
  Start({grpc::StatusCode::UNIMPLEMENTED, ""});
  const auto serving = IsServing(options_, absl::Seconds(10));
  EXPECT_THAT(serving, HasCode(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(std::string(serving.status().message()),
              HasSubstr("offers no health service"));
}

TEST_F(HealthTest, ASilentServerIsAway) {
  Start({grpc::StatusCode::DEADLINE_EXCEEDED, "late"});
  EXPECT_THAT(IsServing(options_, absl::Seconds(10)),
              HasCode(absl::StatusCode::kUnavailable));
  server_.reset();
  EXPECT_THAT(IsServing(options_, absl::ZeroDuration()),
              HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(HealthTest, LessThanASecondIsNotRoundedUp) {
  Start(grpc::Status::CANCELLED);
  // On a busy machine a call may not get there in time.
  absl::StatusOr<bool> serving = absl::UnavailableError("not asked yet");
  for (int i = 0; i < 100 && absl::IsUnavailable(serving.status()); ++i) {
    serving = IsServing(options_, absl::Milliseconds(600));
  }
  EXPECT_THAT(serving, HasCode(absl::StatusCode::kCancelled));
  // What goes over the wire is rounded.
  EXPECT_LT(refuser_->patience_millis(), 800);
}

TEST_F(HealthTest, NobodyIsAskedWithBadCredentials) {
  ClientOptions options = options_;
  options.tls = TlsOptions{.ca_certificates = "rubbish"};
  EXPECT_THAT(IsServing(options, absl::Seconds(10)),
              IsError(Reason::kInvalidCredentials));
}

}  // namespace
}  // namespace lossscaler::ctl
