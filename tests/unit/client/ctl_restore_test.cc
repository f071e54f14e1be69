// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// get --checkpoint and restore.

#include <fstream>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Return;

constexpr char kScaler[] = R"({"Dynamic":{"scale":512.0,"growth_factor":2.0,)"
                           R"("backoff_factor":0.5,"growth_interval":2000,)"
                           R"("steps_since_overflow":7}})";

LossScaler Scaler() {
  return *LossScaler::Dynamic(DynamicOptions(),
                              {.scale = 512, .steps_since_overflow = 7});
}

class CtlRestoreTest : public CtlTest {
 protected:
  void ExpectRestore(std::optional<std::int64_t> if_epoch,
                     const std::string& request_id) {
    RestoreAnswer answer = {.decision = OverflowDecision(),
                            .session = Info("a")};
    answer.decision.outcome = Outcome::kAborted;
    answer.decision.reason = DecisionReason::kRestored;
    EXPECT_CALL(*connection_, RestoreSession(Field(&SessionRef::name, "a"),
                                             Scaler(), if_epoch, request_id))
        .WillOnce(Return(answer));
  }

  std::string Write(const std::string& text) {
    const std::string path = directory_.path() + "/scaler.json";
    std::ofstream(path) << text;
    return path;
  }

  testing::TempDirectory directory_;
};

TEST_F(CtlRestoreTest, ACheckpointIsNothingButTheScaler) {
  SessionInfo info = Info("a");
  info.scaler = Scaler();
  EXPECT_CALL(*connection_, GetSession).WillRepeatedly(Return(info));
  EXPECT_EQ(Run({"get", "a", "--checkpoint"}), kDone);
  EXPECT_EQ(out_.str(), std::string(kScaler) + "\n");
  EXPECT_EQ(Run({"get", "a", "--checkpoint", "--json"}), kDone);
  EXPECT_EQ(out_.str(), std::string(kScaler) + "\n");
}

TEST_F(CtlRestoreTest, RestoresFromAFileAndShowsTheDecision) {
  const std::string path = Write(kScaler);
  ExpectRestore(std::nullopt, "");
  EXPECT_EQ(Run({"restore", "a", path.c_str()}), kDone);
  EXPECT_EQ(out_.str(),
            "step:         5\n"
            "outcome:      ABORTED\n"
            "reason:       RESTORED\n"
            "explanation:  a gradient was not finite\n"
            "scale:        2048 -> 1024\n"
            "marks:        floored\n"
            "applied:      4 of 5\n"
            "next step:    5\n");
}

TEST_F(CtlRestoreTest, RestoresFromStandardInput) {
  in_.str(std::string(kScaler) + "\n");
  ExpectRestore(0, "r-1");
  EXPECT_EQ(Run({"restore", "a", "-", "--if-epoch", "0", "--request-id", "r-1",
                 "--json"}),
            kDone);
  const Json json = OneLine(out_);
  EXPECT_EQ(json["decision"]["reason"], "RESTORED");
  EXPECT_EQ(json["current"]["epoch"], 2);
}

TEST_F(CtlRestoreTest, SaysWhatIsWrongWithTheFile) {
  const std::string missing = directory_.path() + "/missing";
  EXPECT_EQ(Run({"restore", "a", missing.c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("No such file"));
  EXPECT_EQ(Run({"restore", "a", directory_.path().c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("Is a directory"));
  EXPECT_EQ(Run({"restore", "a", Write("{").c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("INVALID_SCALER"));
  EXPECT_EQ(Run({"restore", "a", Write("").c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("INVALID_SCALER"));
}

TEST_F(CtlRestoreTest, ReadsAtMost64KiB) {
  // White space after the value is JSON too: only the size is in the way.
  const std::string scaler = kScaler;
  const std::size_t limit = 65536;
  ExpectRestore(std::nullopt, "");
  const std::string fits =
      Write(scaler + std::string(limit - scaler.size(), ' '));
  EXPECT_EQ(Run({"restore", "a", fits.c_str()}), kDone);
  const std::string over =
      Write(scaler + std::string(limit - scaler.size() + 1, ' '));
  EXPECT_EQ(Run({"restore", "a", over.c_str()}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("65536 bytes"));
  EXPECT_EQ(Run({"restore", "a", "/dev/zero"}), kWrongUsage);
}

TEST_F(CtlRestoreTest, AnotherEpochIsARefusal) {
  in_.str(kScaler);
  EXPECT_CALL(*connection_, RestoreSession)
      .WillOnce(Return(MakeError(Reason::kEpochMismatch, "epoch 2, not 1")));
  EXPECT_EQ(Run({"restore", "a", "-", "--if-epoch", "1"}), kRefused);
}

}  // namespace
}  // namespace lossscaler::ctl
