// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the text format of Prometheus, version 0.0.4, and accepts nothing that
// it does not allow.
//
// Thread safety: as a container.

#ifndef LOSSSCALER_TESTS_TESTING_PROMETHEUS_TEXT_H_
#define LOSSSCALER_TESTS_TESTING_PROMETHEUS_TEXT_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lossscaler::testing {

class PrometheusText {
 public:
  struct Family {
    std::string help;
    std::string type;
    // Of all its series, but "le".
    std::set<std::string> labels;
    // By name and labels, such as a_total{x="1",y="2"}, labels by name.
    std::map<std::string, double> series;
  };

  // An error says which line is wrong, and why. Every family needs HELP and
  // TYPE, in this order, and stands in one place; histograms add up.
  static absl::StatusOr<PrometheusText> Parse(std::string_view text);

  const std::map<std::string, Family>& families() const& { return families_; }
  // They would be gone with it.
  const std::map<std::string, Family>& families() && = delete;

  // A value; nullopt: there is no such series.
  std::optional<double> Find(std::string_view series) const;

  // How many series there are.
  int size() const;

 private:
  std::map<std::string, Family> families_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_PROMETHEUS_TEXT_H_
