// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/notes.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace lossscaler::sharded {
namespace {

absl::Status Write(const std::string& path, std::ios::openmode mode,
                   const std::string& text) {
  std::ofstream file(path, mode);
  file << text << std::flush;
  if (file) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path));
}

std::string Exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

Notes::Notes(const std::string& folder, int rank)
    : prefix_(absl::StrCat(folder, "/rank-", rank, ".")) {}

absl::Status Notes::Append(const SeenStep& seen) const {
  return Write(
      prefix_ + "steps", std::ios::app,
      absl::StrCat(seen.step, " ", seen.iteration, " ", seen.overflow ? 1 : 0,
                   " ", seen.outcome, " ", Exact(seen.scale_after), "\n"));
}

absl::StatusOr<std::vector<SeenStep>> Notes::Steps() const {
  std::ifstream file(prefix_ + "steps");
  std::vector<SeenStep> steps;
  SeenStep seen;
  while (file >> seen.step >> seen.iteration >> seen.overflow >> seen.outcome >>
         seen.scale_after) {
    steps.push_back(seen);
  }
  if (file.eof() && !steps.empty()) return steps;
  return absl::DataLossError(absl::StrCat("cannot read ", prefix_, "steps"));
}

absl::Status Notes::SetFinish(const Finish& finish) const {
  return Write(prefix_ + "finish", std::ios::trunc,
               absl::StrCat(Exact(finish.loss), " ", Exact(finish.accuracy),
                            " ", finish.parameters, " ", finish.own, " ",
                            finish.replica, " ", finish.incarnation, "\n"));
}

absl::StatusOr<Finish> Notes::GetFinish() const {
  std::ifstream file(prefix_ + "finish");
  Finish finish;
  // A loss may be NaN, which streams do not read.
  std::string loss;
  if (file >> loss >> finish.accuracy >> finish.parameters >> finish.own >>
      finish.replica >> finish.incarnation) {
    finish.loss = std::strtod(loss.c_str(), nullptr);
    return finish;
  }
  return absl::DataLossError(absl::StrCat("cannot read ", prefix_, "finish"));
}

absl::Status Notes::SetResumeToken(const std::string& token) const {
  return Write(prefix_ + "token", std::ios::trunc, token);
}

std::string Notes::GetResumeToken() const {
  std::ifstream file(prefix_ + "token");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace lossscaler::sharded
