// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// scale and update.

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Return;

class CtlStepTest : public CtlTest {
 protected:
  // Keeps the call, and answers with `answer`.
  void ExpectScale(const ScaleLossAnswer& answer) {
    EXPECT_CALL(*connection_, ScaleLoss)
        .WillOnce([this, answer](const ScaleLossCall& call) {
          scale_call_ = call;
          losses_.assign(call.losses.begin(), call.losses.end());
          return answer;
        });
  }
  void ExpectUpdate() {
    EXPECT_CALL(*connection_, Update).WillOnce([this](const UpdateCall& call) {
      update_call_ = call;
      return UpdateAnswer{
          .decision = OverflowDecision(),
          .current = {.step = 6, .scale = 1024, .base = 4, .epoch = 2}};
    });
  }

  ScaleLossCall scale_call_;
  std::vector<float> losses_;
  UpdateCall update_call_;
};

TEST_F(CtlStepTest, ScalesLosses) {
  const float inf = std::numeric_limits<float>::infinity();
  const ScaleLossAnswer answer = {.scaled_losses = {102.4F, 81920, inf},
                                  .scale = 1024,
                                  .step = 7,
                                  .epoch = 3,
                                  .non_finite_losses = {2},
                                  .overflowing_losses = {1}};
  ExpectScale(answer);
  EXPECT_EQ(Run({"scale", "a", "0.1", "80", "inf", "--step", "7", "--loss-type",
                 "float16"}),
            kDone);
  EXPECT_EQ(out_.str(),
            "step 7, scale 1024\n"
            "LOSS  SCALED  NOTE\n"
            "0.1   102.4\n"
            "80    81920   overflows float16\n"
            "inf   inf     not finite\n");
  EXPECT_EQ(scale_call_.session.name, "a");
  EXPECT_EQ(scale_call_.step, 7);
  EXPECT_EQ(scale_call_.loss_type, ElementType::kFloat16);
  EXPECT_THAT(losses_, ElementsAre(0.1F, 80.0F, inf));
  ExpectScale(answer);
  EXPECT_EQ(Run({"--json", "scale", "a", "0.1", "80", "inf"}), kDone);
  EXPECT_EQ(OneLine(out_), Json::parse(R"({
    "step": 7, "epoch": 3, "scale": 1024.0, "loss_type": "float32",
    "losses": [
      {"loss": 0.1, "scaled": 102.4, "finite": true, "overflows": false},
      {"loss": 80.0, "scaled": 81920.0, "finite": true, "overflows": true},
      {"loss": "Infinity", "scaled": "Infinity", "finite": false,
       "overflows": false}]})"));
  EXPECT_EQ(scale_call_.step, std::nullopt);
}

TEST_F(CtlStepTest, ReadsNegativeAndUnboundedLosses) {
  ExpectScale({.scaled_losses = {-1, 0, 0}});
  EXPECT_EQ(Run({"scale", "a", "--json", "--", "-1.5", "-inf", "nan"}), kDone);
  ASSERT_EQ(losses_.size(), 3u);
  EXPECT_EQ(losses_[0], -1.5F);
  EXPECT_EQ(losses_[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(losses_[2]));
  EXPECT_EQ(OneLine(out_)["losses"][1]["loss"], "-Infinity");
  EXPECT_EQ(OneLine(out_)["losses"][2]["loss"], "NaN");
}

TEST_F(CtlStepTest, ANegativeNumberIsNoFlag) {
  ExpectScale({.scaled_losses = {-1}});
  EXPECT_EQ(Run({"scale", "a", "-1.5", "--step", "2"}), kDone);
  EXPECT_THAT(losses_, ElementsAre(-1.5F));
}

TEST_F(CtlStepTest, SaysHowALossThatLooksLikeAFlagIsWritten) {
  const std::vector<std::vector<const char*>> lines = {
      {"scale", "a", "-inf"},
      {"scale", "a", "1", "-inf", "2"},
      {"scale", "a", "-inf", "--step", "2"}};
  for (const auto& line : lines) {
    EXPECT_EQ(Run(line), kWrongUsage);
    EXPECT_THAT(err_.str(),
                HasSubstr("\"-inf\" looks like an option; write -- before the "
                          "losses"));
  }
  EXPECT_EQ(Run({"scale", "a", "1", "-.5"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("write -- before the losses"));
  EXPECT_EQ(Run({"scale", "a", "1", "-x"}), kWrongUsage);
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("write --")));
}

TEST_F(CtlStepTest, RefusesLossesThatAreNoFloat32) {
  for (const char* loss :
       {"1e39", "-1e39", "1e-60", "1x", "0x10", "", " 1", "1,5", "one"}) {
    EXPECT_EQ(Run({"scale", "a", "--", loss}), kWrongUsage) << loss;
    EXPECT_THAT(err_.str(), HasSubstr("LOSS")) << loss;
  }
  EXPECT_EQ(Run({"scale", "a"}), kWrongUsage);
  EXPECT_EQ(Run({"scale", "a", "1", "--loss-type", "float64"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("float32, float16, bfloat16"));
}

TEST_F(CtlStepTest, AnAnswerForOtherLossesIsAnError) {
  ExpectScale({.scaled_losses = {1}});
  EXPECT_EQ(Run({"scale", "a", "1", "2"}), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("MALFORMED_ANSWER"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CtlStepTest, NamesTheOpenStepWhenItVotes) {
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(Info("a")));
  ExpectUpdate();
  EXPECT_EQ(Run({"update", "a", "--overflow"}), kDone);
  EXPECT_EQ(update_call_.session.name, "a");
  EXPECT_EQ(update_call_.session.uid, "uid-1");
  EXPECT_EQ(update_call_.step, 5);
  Vote vote;
  vote.verdict = Verdict::kOverflow;
  EXPECT_EQ(update_call_.vote, vote);
  EXPECT_THAT(out_.str(), HasSubstr("outcome:      SKIP_OVERFLOW\n"));
  EXPECT_THAT(out_.str(), HasSubstr("next step:    6\n"));
}

TEST_F(CtlStepTest, SendsEveryPartOfAVote) {
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(Info("a")));
  ExpectUpdate();
  EXPECT_EQ(Run({"update", "a", "--finite", "--step", "4", "--base", "0",
                 "--scale-used", "0.5", "--iteration", "-9", "--json"}),
            kDone);
  EXPECT_EQ(update_call_.step, 4);
  Vote vote;
  vote.verdict = Verdict::kFinite;
  vote.base = 0;
  vote.base_session_uid = "uid-1";
  vote.scale_used = 0.5;
  vote.iteration = -9;
  EXPECT_EQ(update_call_.vote, vote);
  const Json json = OneLine(out_);
  EXPECT_EQ(json["decision"]["outcome"], "SKIP_OVERFLOW");
  EXPECT_EQ(json["decision"]["scale_after"], 1024.0);
  EXPECT_EQ(json["current"], Json::parse(R"({"step": 6, "scale": 1024.0,
                                             "base": 4, "epoch": 2})"));
}

TEST_F(CtlStepTest, AStepThatIsNamedNeedsNoQuestion) {
  for (const auto& [flag, verdict] :
       {std::pair("--skip", Verdict::kSkip),
        std::pair("--abstain", Verdict::kAbstain)}) {
    ExpectUpdate();
    EXPECT_EQ(Run({"update", "a", flag, "--step", "9"}), kDone);
    EXPECT_EQ(update_call_.step, 9);
    EXPECT_EQ(update_call_.session.uid, "");
    EXPECT_EQ(update_call_.vote.verdict, verdict);
  }
}

TEST_F(CtlStepTest, OneVerdictIsGiven) {
  EXPECT_EQ(Run({"update", "a"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--finite"));
  EXPECT_EQ(Run({"update", "a", "--finite", "--overflow"}), kWrongUsage);
  EXPECT_EQ(Run({"update", "a", "--finite", "--step", "1.5"}), kWrongUsage);
  EXPECT_EQ(Run({"update", "a", "--finite", "--step", "010x"}), kWrongUsage);
  EXPECT_EQ(Run({"update", "a", "--finite", "--step", "9223372036854775808"}),
            kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("64 bits"));
}

TEST_F(CtlStepTest, WholeNumbersAreDecimal) {
  ExpectUpdate();
  EXPECT_EQ(Run({"update", "a", "--finite", "--step", "010"}), kDone);
  EXPECT_EQ(update_call_.step, 10);
}

TEST_F(CtlStepTest, NothingIsVotedInASessionThatIsMissing) {
  EXPECT_CALL(*connection_, GetSession)
      .WillOnce(Return(MakeError(Reason::kSessionNotFound, "no session")));
  EXPECT_EQ(Run({"update", "a", "--finite"}), kRefused);
}

}  // namespace
}  // namespace lossscaler::ctl
