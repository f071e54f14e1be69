// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/prometheus_text.h"

#include <cctype>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lossscaler::testing {
namespace {

using Family = PrometheusText::Family;
using Labels = std::map<std::string, std::string>;

struct SeriesLine {
  std::string name;
  Labels labels;
  double value = 0;
};

// Takes pieces off the front of one line.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  bool Take(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }

  // [a-zA-Z_:][a-zA-Z0-9_:]*; empty: there is none.
  std::string TakeName() {
    std::string name;
    while (!rest_.empty() && IsNameCharacter(rest_.front(), name.empty())) {
      name += rest_.front();
      rest_.remove_prefix(1);
    }
    return name;
  }

  // Up to the closing quote, which is taken as well.
  std::optional<std::string> TakeQuoted() {
    std::string text;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c != '\\') {
        text += c;
        continue;
      }
      if (rest_.empty()) break;
      const char escaped = rest_.front();
      rest_.remove_prefix(1);
      if (escaped != '\\' && escaped != '"' && escaped != 'n') break;
      text += escaped == 'n' ? '\n' : escaped;
    }
    return std::nullopt;
  }

  std::string_view rest() const { return rest_; }

 private:
  static bool IsNameCharacter(char c, bool first) {
    if (c == '_' || c == ':') return true;
    const auto byte = static_cast<unsigned char>(c);
    return byte < 128 && (first ? std::isalpha(byte) : std::isalnum(byte)) != 0;
  }

  std::string_view rest_;
};

std::optional<double> ParseValue(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text.find_first_not_of("0123456789+-.e") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0;
  if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<SeriesLine> ParseSeries(std::string_view line) {
  LineReader reader(line);
  SeriesLine series;
  series.name = reader.TakeName();
  if (series.name.empty()) return std::nullopt;
  if (reader.Take("{")) {
    do {
      const std::string label = reader.TakeName();
      if (label.empty() || label.find(':') != std::string::npos ||
          !reader.Take("=\"")) {
        return std::nullopt;
      }
      const std::optional<std::string> text = reader.TakeQuoted();
      if (!text || !series.labels.emplace(label, *text).second) {
        return std::nullopt;
      }
    } while (reader.Take(","));
    if (!reader.Take("}")) return std::nullopt;
  }
  if (!reader.Take(" ")) return std::nullopt;
  const std::optional<double> value = ParseValue(reader.rest());
  if (!value) return std::nullopt;
  series.value = *value;
  return series;
}

std::string Key(const std::string& name, const Labels& labels) {
  if (labels.empty()) return name;
  std::string key = absl::StrCat(name, "{");
  for (const auto& [label, text] : labels) {
    absl::StrAppend(&key, key.back() == '{' ? "" : ",", label, "=\"", text,
                    "\"");
  }
  return absl::StrCat(key, "}");
}

// The buckets of one histogram, by their upper bounds, and what goes with them.
struct Histogram {
  std::map<double, double> buckets;
  std::optional<double> sum;
  std::optional<double> count;
};

std::string WhatIsWrongWith(const Histogram& histogram) {
  if (!histogram.sum || !histogram.count) return "has no _sum or no _count";
  if (histogram.buckets.empty() ||
      !std::isinf(histogram.buckets.rbegin()->first)) {
    return "has no bucket +Inf";
  }
  double last = 0;
  for (const auto& [bound, count] : histogram.buckets) {
    if (count < last) return "has buckets that are not cumulative";
    last = count;
  }
  return last == *histogram.count ? "" : "has another _count than bucket +Inf";
}

}  // namespace

absl::StatusOr<PrometheusText> PrometheusText::Parse(std::string_view text) {
  if (!text.ends_with('\n')) {
    return absl::InvalidArgumentError("the last line has no end");
  }
  text.remove_suffix(1);
  PrometheusText parsed;
  std::string name;
  Family* family = nullptr;
  std::map<std::string, Histogram> histograms;
  int number = 0;
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::string_view line(part.data(), part.size());
    const auto wrong = [&line, number = ++number](std::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, ", ", std::string(line), ": ", std::string(why)));
    };
    LineReader reader(line);
    if (reader.Take("# HELP ")) {
      name = reader.TakeName();
      if (name.empty() || !reader.Take(" ") || reader.rest().empty()) {
        return wrong("is not # HELP NAME TEXT");
      }
      const auto [found, is_new] = parsed.families_.try_emplace(name);
      if (!is_new) return wrong("is the second HELP of this family");
      family = &found->second;
      family->help = std::string(reader.rest());
      continue;
    }
    if (family == nullptr) return wrong("stands before any HELP");
    if (reader.Take("# TYPE ")) {
      if (reader.TakeName() != name || !reader.Take(" ")) {
        return wrong("is not the TYPE of the HELP before it");
      }
      if (!family->type.empty()) return wrong("is the second TYPE");
      family->type = std::string(reader.rest());
      if (family->type != "counter" && family->type != "gauge" &&
          family->type != "histogram") {
        return wrong("is none of our types");
      }
      continue;
    }
    if (family->type.empty()) return wrong("stands before its TYPE");
    std::optional<SeriesLine> series = ParseSeries(line);
    if (!series) return wrong("is not NAME{LABEL=\"TEXT\",...} VALUE");
    if (family->type == "counter" && !(series->value >= 0)) {
      return wrong("is a counter below 0");
    }
    if (!family->series
             .emplace(Key(series->name, series->labels), series->value)
             .second) {
      return wrong("is there twice");
    }
    if (family->type != "histogram") {
      if (series->name != name) return wrong("belongs to another family");
    } else {
      std::optional<double> bound;
      if (const auto le = series->labels.find("le");
          le != series->labels.end()) {
        bound = ParseValue(le->second);
        if (!bound) return wrong("has a bucket without a bound");
        series->labels.erase(le);
      }
      Histogram& histogram = histograms[Key(name, series->labels)];
      if (bound && series->name == absl::StrCat(name, "_bucket")) {
        histogram.buckets[*bound] = series->value;
      } else if (!bound && series->name == absl::StrCat(name, "_sum")) {
        histogram.sum = series->value;
      } else if (!bound && series->name == absl::StrCat(name, "_count")) {
        histogram.count = series->value;
      } else {
        return wrong("is no part of a histogram");
      }
    }
    for (const auto& [label, unused] : series->labels) {
      family->labels.insert(label);
    }
  }
  for (const auto& [key, histogram] : histograms) {
    if (const std::string why = WhatIsWrongWith(histogram); !why.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(key, " ", why));
    }
  }
  return parsed;
}

std::optional<double> PrometheusText::Find(std::string_view series) const {
  for (const auto& [name, family] : families_) {
    const auto found = family.series.find(std::string(series));
    if (found != family.series.end()) return found->second;
  }
  return std::nullopt;
}

int PrometheusText::size() const {
  std::size_t size = 0;
  for (const auto& [name, family] : families_) size += family.series.size();
  return static_cast<int>(size);
}

}  // namespace lossscaler::testing
