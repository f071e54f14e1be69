// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// --help as a manual page of at most 80 columns, made from the command line
// itself.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_HELP_FORMATTER_H_
#define LOSSSCALER_CTL_HELP_FORMATTER_H_

#include <string>

#include "CLI/CLI.hpp"

namespace lossscaler::ctl {

// Descriptions of commands have the form of a commit message: a summary, and
// after an empty line the rest. Each line of a footer is an example.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_HELP_FORMATTER_H_
