// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/summary.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ctl/npy/file_error.h"
#include "ctl/npy/position.h"
#include "ctl/table.h"
#include "lossscaler/core/number_text.h"
#include "nlohmann/json.hpp"

namespace lossscaler::ctl {
namespace {

using Json = nlohmann::ordered_json;

// In a table of many files only what is bad stands out.
constexpr char kNoFigure[] = "-";

double SumOfSquares(const UnscaleSummary& summary) {
  double sum = 0;
  for (const FileSummary& file : summary.files) {
    sum += file.verdict.sum_of_squares;
  }
  return sum;
}

double AbsoluteMaximum(const UnscaleSummary& summary) {
  double maximum = 0;
  for (const FileSummary& file : summary.files) {
    maximum = std::max(maximum, file.verdict.absolute_maximum);
  }
  return maximum;
}

std::string TypeText(ElementType type) {
  return std::string(ElementTypeName(type));
}

std::string BadText(const UnscaleVerdict& verdict) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, const char* what) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", what));
  };
  add(verdict.nan_count, "nan");
  add(verdict.positive_infinity_count, "+inf");
  add(verdict.negative_infinity_count, "-inf");
  return parts.empty() ? kNoFigure : absl::StrJoin(parts, ", ");
}

std::string FirstBadText(const FileSummary& file) {
  if (!file.verdict.first_bad_index) return kNoFigure;
  const std::uint64_t index = *file.verdict.first_bad_index;
  return absl::StrCat(file.first_bad_value.value_or("?"), " at ",
                      TupleText(PositionOf(index, file.header)), ", element ",
                      index);
}

Row FileRow(const FileSummary& file) {
  const UnscaleVerdict& verdict = file.verdict;
  return {PathText(file.input),
          TupleText(file.header.shape),
          absl::StrCat(TypeText(file.header.type), " -> ",
                       TypeText(file.output_type)),
          absl::StrCat(verdict.element_count),
          BadText(verdict),
          FirstBadText(file),
          verdict.flushed_to_zero == 0 ? kNoFigure
                                       : absl::StrCat(verdict.flushed_to_zero)};
}

Json NormJson(const UnscaleSummary& summary, double sum_of_squares) {
  return summary.statistics ? Json(std::sqrt(sum_of_squares)) : Json();
}

Json FileJson(const UnscaleSummary& summary, const FileSummary& file) {
  const UnscaleVerdict& verdict = file.verdict;
  Json first_bad;
  if (verdict.first_bad_index) {
    first_bad = {
        {"index", *verdict.first_bad_index},
        {"position", PositionOf(*verdict.first_bad_index, file.header)},
        {"value", file.first_bad_value ? Json(*file.first_bad_value) : Json()}};
  }
  return {{"input", file.input},
          {"output", file.output.empty() ? Json() : Json(file.output)},
          {"shape", file.header.shape},
          {"dtype", TypeText(file.header.type)},
          {"output_dtype", TypeText(file.output_type)},
          {"elements", verdict.element_count},
          {"nan", verdict.nan_count},
          {"positive_infinity", verdict.positive_infinity_count},
          {"negative_infinity", verdict.negative_infinity_count},
          {"flushed_to_zero", verdict.flushed_to_zero},
          {"first_bad", first_bad},
          {"norm", NormJson(summary, verdict.sum_of_squares)}};
}

}  // namespace

bool UnscaleSummary::overflow() const {
  return std::any_of(files.begin(), files.end(), [](const FileSummary& file) {
    return file.verdict.overflow();
  });
}

std::string SummaryText(const UnscaleSummary& summary) {
  std::vector<Row> rows = {{"FILE", "SHAPE", "DTYPE", "ELEMENTS", "BAD",
                            "FIRST BAD", "FLUSHED TO ZERO"}};
  for (const FileSummary& file : summary.files) rows.push_back(FileRow(file));
  std::string text = absl::StrCat(
      Table(rows), "overflow: ", summary.overflow() ? "yes" : "no");
  if (summary.statistics) {
    absl::StrAppend(
        &text,
        summary.overflow() ? "  norm of the finite elements: " : "  norm: ",
        NumberText(std::sqrt(SumOfSquares(summary))),
        summary.overflow() ? "  their absolute maximum: "
                           : "  absolute maximum: ",
        NumberText(AbsoluteMaximum(summary)));
  }
  absl::StrAppend(&text, "  scale: ", NumberText(summary.scale),
                  "  step: ", summary.step, "\n");
  return text;
}

std::string SummaryJson(const UnscaleSummary& summary) {
  Json files = Json::array();
  for (const FileSummary& file : summary.files) {
    files.push_back(FileJson(summary, file));
  }
  const Json json = {
      {"session", summary.session},
      {"step", summary.step},
      {"scale", summary.scale},
      {"overflow", summary.overflow()},
      {"norm", NormJson(summary, SumOfSquares(summary))},
      {"absolute_maximum",
       summary.statistics ? Json(AbsoluteMaximum(summary)) : Json()},
      {"files", files}};
  // Names of files need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lossscaler::ctl
