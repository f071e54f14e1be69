// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CtlTest: lossscalerctl on a mock of its server.

#ifndef LOSSSCALER_TESTS_TESTING_CTL_FIXTURE_H_
#define LOSSSCALER_TESTS_TESTING_CTL_FIXTURE_H_

#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ctl/command_line.h"
#include "ctl/connection_flags.h"
#include "ctl/exit_code.h"
#include "ctl/unfinished_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/error.h"
#include "nlohmann/json.hpp"

namespace lossscaler::ctl {

// An environment variable with another value, or none, for a while.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    Set(value);
  }
  ~ScopedVariable() { Set(before_ ? before_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_.c_str());
    } else {
      setenv(name_.c_str(), value, /*overwrite=*/1);
    }
  }

  const std::string name_;
  std::optional<std::string> before_;
};

class CtlTest : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  CtlTest() {
    for (const ConnectionSetting& setting : ConnectionSettings()) {
      unset_.push_back(
          std::make_unique<ScopedVariable>(setting.variable, nullptr));
    }
  }

  int Run(std::vector<const char*> arguments) {
    out_.str("");
    err_.str("");
    out_.clear();
    arguments.insert(arguments.begin(), "lossscalerctl");
    return RunCommandLine(
        static_cast<int>(arguments.size()), arguments.data(),
        {.out = out_,
         .err = err_,
         .connect =
             [this](const ClientOptions& options) {
               options_ = options;
               return connection_;
             },
         .is_serving =
             [this](const ClientOptions& options, absl::Duration wait) {
               options_ = options;
               health_wait_ = wait;
               return serving_;
             },
         .unfinished_files = unfinished_files_,
         .in = in_});
  }

  // The JSON that Run() wrote; null, and a failure, if it is not one line.
  static Json OneLine(const std::ostringstream& stream) {
    const std::string text = stream.str();
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(json.is_discarded()) << text;
    return json;
  }

  static SessionInfo Info(const std::string& name) {
    SessionInfo info;
    info.name = name;
    info.uid = "uid-1";
    info.config = info.scaler = *LossScaler::Static(16777216);
    info.current = {.step = 5, .scale = 16777216, .base = 3, .epoch = 2};
    info.applied = 3;
    info.skipped = 1;
    info.attempted = 4;
    return info;
  }

  static Decision OverflowDecision() {
    Decision decision;
    decision.step = 5;
    decision.outcome = Outcome::kSkipOverflow;
    decision.reason = DecisionReason::kOverflow;
    decision.explanation = "a gradient was not finite";
    decision.scale_before = 2048;
    decision.scale_after = 1024;
    decision.base_before = decision.base_after = 4;
    decision.epoch_after = 2;
    decision.attempted = 5;
    decision.applied = 4;
    decision.skipped = 1;
    decision.floored = true;
    decision.overflow = true;
    return decision;
  }

  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  ClientOptions options_;
  std::optional<absl::Duration> health_wait_;
  absl::StatusOr<bool> serving_ = true;
  UnfinishedFiles unfinished_files_;
  std::shared_ptr<::testing::StrictMock<MockConnection>> connection_ =
      std::make_shared<::testing::StrictMock<MockConnection>>();

 private:
  std::vector<std::unique_ptr<ScopedVariable>> unset_;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_TESTS_TESTING_CTL_FIXTURE_H_
