// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/failure.h"

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "ctl/one_line.h"
#include "lossscaler/core/error.h"
#include "nlohmann/json.hpp"

namespace lossscaler::ctl {
namespace {

using Json = nlohmann::ordered_json;

void Write(const Environment& environment, Format format,
           const std::string& reason, const absl::Status& error) {
  if (format == Format::kText) {
    environment.err << "lossscalerctl: " << OneLine(reason) << ": "
                    << OneLine(std::string(error.message())) << "\n";
    return;
  }
  Json metadata = Json::object();
  for (const auto& [name, value] : MetadataOf(error)) metadata[name] = value;
  const Json json = {{"error",
                      {{"reason", reason},
                       {"code", absl::StatusCodeToString(error.code())},
                       {"message", std::string(error.message())},
                       {"metadata", metadata}}}};
  // Whatever a server sends is printed; bytes that are not UTF-8 are replaced.
  environment.err << json.dump(-1, ' ', false, Json::error_handler_t::replace)
                  << "\n";
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kOutOfReach;
    case absl::StatusCode::kInvalidArgument:
      return kWrongUsage;
    default:
      return kRefused;
  }
}

int Fail(const Environment& environment, Format format,
         const absl::Status& error) {
  std::string reason = ReasonNameOf(error);
  if (reason.empty()) reason = absl::StatusCodeToString(error.code());
  Write(environment, format, reason, error);
  return ExitCodeOf(error);
}

int WrongUsage(const Environment& environment, Format format,
               std::string_view command, std::string_view what) {
  if (format == Format::kJson) {
    Write(environment, format, "WRONG_USAGE",
          absl::InvalidArgumentError(
              absl::string_view(what.data(), what.size())));
  } else {
    environment.err << "lossscalerctl: " << OneLine(what)
                    << "; see `lossscalerctl " << command
                    << (command.empty() ? "" : " ") << "--help`\n";
  }
  return kWrongUsage;
}

}  // namespace lossscaler::ctl
