// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/loss_scaler_json.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/scaler_members.h"
#include "nlohmann/json.hpp"

namespace lossscaler {
namespace {

// clang-tidy 14 does not see that literals use it.
// NOLINTNEXTLINE(misc-unused-using-decls)
using std::string_view_literals::operator""sv;

constexpr std::string_view kStaticMembers[] = {"scale"};
constexpr std::string_view kDynamicMembers[] = {
    "scale",
    "growth_factor",
    "backoff_factor",
    "growth_interval",
    "steps_since_overflow",
    "min_scale",
    "max_scale",
    "hysteresis",
    "hysteresis_left",
    "hysteresis_refill",
    "growth_count",
    "precision",
    "finite_guard",
    "unscale_arithmetic",
    "floor_action",
    "max_consecutive_skips",
    "consecutive_skips",
};

constexpr std::string_view kVariants =
    "\"None\", {\"Static\":{...}} or {\"Dynamic\":{...}}";

std::string Listed(std::span<const std::string_view> words) {
  return absl::StrJoin(words, ", ", [](std::string* out, std::string_view w) {
    out->append(w);
  });
}

absl::Status BadJson(std::string_view place, std::string_view problem,
                     std::string_view expected) {
  return MakeError(
      Reason::kInvalidScaler,
      absl::StrCat("scaler JSON: ", std::string(place), " ",
                   std::string(problem), "; expected ", std::string(expected)),
      {{"place", std::string(place)},
       {"problem", std::string(problem)},
       {"expected", std::string(expected)}});
}

// Digits as they stand, unless they are endless.
std::string ShownNumber(const std::string& digits) {
  constexpr std::size_t kMaxShownDigits = 40;
  return digits.size() <= kMaxShownDigits ? digits : Quoted(digits);
}

// A member's value as it stands in the text: numbers keep their digits until
// the precision of the state is known.
struct Value {
  bool is_number = false;
  std::string text;

  std::string Shown() const {
    return is_number ? ShownNumber(text) : Quoted(text);
  }
};

// What was read, before it means anything.
struct Document {
  // "None", "Static" or "Dynamic".
  std::string variant;
  std::map<std::string, Value> members;
};

// Takes the parser's events and stops it at the first one that a scaler cannot
// have. The parser keeps no stack of its own per nesting level and nothing
// deeper than a member is ever accepted, so nesting costs nothing.
class DocumentReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Once the parser has returned.
  absl::StatusOr<Document> Result() && {
    if (!status_.ok()) return status_;
    return std::move(document_);
  }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool value) override {
    return Unexpected(value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override {
    return Number(absl::StrCat(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(absl::StrCat(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    // The parser hands out the decimal point of the process's locale.
    std::string digits = text;
    std::replace(digits.begin(), digits.end(), ',', '.');
    return Number(std::move(digits));
  }
  bool string(string_t& value) override {
    if (depth_ == kMembers) return Take({false, value});
    if (depth_ > kTop) return Unexpected(Quoted(value));
    if (value != "None") {
      return Fail(
          BadJson("the value", absl::StrCat("is ", Quoted(value)), kVariants));
    }
    document_.variant = value;
    return true;
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool start_object(std::size_t) override {
    if (depth_ == kMembers) return Unexpected("an object");
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    return depth_ == kVariant ? TakeVariant(name) : TakeName(name);
  }
  bool end_object() override {
    if (document_.variant.empty()) {
      return Fail(BadJson("the value", "is an empty object", kVariants));
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return Unexpected("an array"); }
  bool end_array() override { return true; }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    // "[json.exception...] parse error at line 1, column 3: what happened".
    std::string_view what = error.what();
    if (const std::size_t colon = what.find(": "); colon != what.npos) {
      what.remove_prefix(colon + 2);
    }
    return Fail(
        BadJson(absl::StrCat("byte ", position),
                absl::StrCat("is where reading stopped: ", Quoted(what)),
                "one JSON value and nothing after it"));
  }

 private:
  enum Depth { kTop = 0, kVariant = 1, kMembers = 2 };

  bool Fail(absl::Status status) {
    status_.Update(std::move(status));
    return false;
  }

  bool Unexpected(std::string_view what) {
    const std::string problem = absl::StrCat("is ", std::string(what));
    switch (depth_) {
      case kTop:
        return Fail(BadJson("the value", problem, kVariants));
      case kVariant:
        return Fail(BadJson(document_.variant, problem,
                            "an object with the members of the scaler"));
      default:
        return Fail(BadJson(Path(name_), problem, "a number or a word"));
    }
  }

  bool TakeVariant(const std::string& name) {
    if (!document_.variant.empty()) {
      return Fail(BadJson("the value",
                          absl::StrCat("has a second member ", Quoted(name)),
                          "one variant"));
    }
    if (name != "Static" && name != "Dynamic") {
      return Fail(BadJson(
          "the value", absl::StrCat("has the unknown variant ", Quoted(name)),
          kVariants));
    }
    document_.variant = name;
    return true;
  }

  bool TakeName(const std::string& name) {
    const std::span<const std::string_view> known =
        document_.variant == "Static"
            ? std::span<const std::string_view>(kStaticMembers)
            : std::span<const std::string_view>(kDynamicMembers);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Fail(BadJson(document_.variant,
                          absl::StrCat("has the unknown member ", Quoted(name)),
                          Listed(known)));
    }
    if (document_.members.count(name) > 0) {
      return Fail(
          BadJson(Path(name), "occurs twice", "each member at most once"));
    }
    name_ = name;
    return true;
  }

  bool Number(std::string digits) {
    if (depth_ != kMembers) {
      return Unexpected(absl::StrCat("the number ", ShownNumber(digits)));
    }
    return Take({true, std::move(digits)});
  }

  bool Take(Value value) {
    document_.members.emplace(name_, std::move(value));
    return true;
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(document_.variant, ".", name);
  }

  int depth_ = kTop;
  std::string name_;
  Document document_;
  absl::Status status_;
};

// Turns members into values. The first error wins; later reads then change
// nothing that matters.
class MemberReader {
 public:
  explicit MemberReader(const Document& document) : document_(document) {}

  const absl::Status& status() const { return status_; }

  // Whether there is such a member.
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

  void Require(std::string_view name) {
    if (!Has(name)) {
      status_.Update(
          BadJson(document_.variant,
                  absl::StrCat("lacks the member ", std::string(name)),
                  "every required member"));
    }
  }

  // Each of these leaves *result as it is if the member is missing.
  void Real(std::string_view name, bool is_float32, double* result) {
    const Value* value = Find(name);
    if (value == nullptr) return;
    std::optional<double> number;
    if (is_float32) {
      // Straight to float32: through a double it would be rounded twice.
      if (const std::optional<float> parsed = Parse<float>(*value)) {
        number = *parsed;
      }
    } else {
      number = Parse<double>(*value);
    }
    if (number.has_value()) {
      *result = *number;
    } else {
      Refuse(name, *value,
             is_float32 ? "a number in the range of float32"
                        : "a number in the range of float64");
    }
  }

  void Integer(std::string_view name, std::int64_t* result) {
    const Value* value = Find(name);
    if (value == nullptr) return;
    if (const auto number = Parse<std::int64_t>(*value)) {
      *result = *number;
    } else {
      Refuse(name, *value, "an integer in the range of int64");
    }
  }

  template <typename Enum>
  void Enumerator(std::string_view name, Enum* result) {
    const Value* value = Find(name);
    if (value == nullptr) return;
    const auto& words = kWords<Enum>;
    const auto word = std::find(words.begin(), words.end(), value->text);
    if (value->is_number || word == words.end()) {
      Refuse(name, *value, absl::StrCat("one of ", Listed(words)));
    } else {
      *result = static_cast<Enum>(word - words.begin());
    }
  }

 private:
  template <typename Number>
  static std::optional<Number> Parse(const Value& value) {
    const char* const end = value.text.data() + value.text.size();
    Number number{};
    const std::from_chars_result parsed =
        std::from_chars(value.text.data(), end, number);
    if (!value.is_number || parsed.ec != std::errc() || parsed.ptr != end) {
      return std::nullopt;
    }
    return number;
  }

  const Value* Find(std::string_view name) const {
    const auto member = document_.members.find(std::string(name));
    return member == document_.members.end() ? nullptr : &member->second;
  }

  void Refuse(std::string_view name, const Value& value,
              std::string_view expected) {
    status_.Update(
        BadJson(absl::StrCat(document_.variant, ".", std::string(name)),
                absl::StrCat("is ", value.Shown()), expected));
  }

  const Document& document_;
  absl::Status status_;
};

absl::StatusOr<LossScaler> ReadStatic(const Document& document) {
  MemberReader members(document);
  double scale = 0.0;
  members.Require("scale");
  members.Real("scale", /*is_float32=*/true, &scale);
  if (!members.status().ok()) return members.status();
  return LossScaler::Static(scale);
}

absl::StatusOr<LossScaler> ReadDynamic(const Document& document) {
  MemberReader members(document);
  for (std::string_view name :
       {"scale"sv, "growth_factor"sv, "backoff_factor"sv, "growth_interval"sv,
        "steps_since_overflow"sv}) {
    members.Require(name);
  }
  DynamicOptions options;
  DynamicState state;
  members.Enumerator("precision", &options.precision);
  const bool float32_scale = options.precision != StatePrecision::kFloat64;
  const bool float32_factors = options.precision == StatePrecision::kFloat32;
  members.Real("scale", float32_scale, &state.scale);
  members.Real("growth_factor", float32_factors, &options.growth_factor);
  members.Real("backoff_factor", float32_factors, &options.backoff_factor);
  members.Integer("growth_interval", &options.growth_interval);
  members.Integer("steps_since_overflow", &state.steps_since_overflow);
  if (members.Has("min_scale")) {
    members.Real("min_scale", float32_scale, &options.min_scale.emplace());
  }
  if (members.Has("max_scale")) {
    members.Real("max_scale", float32_scale, &options.max_scale.emplace());
  }
  members.Integer("hysteresis", &options.hysteresis);
  state.hysteresis_left = options.hysteresis;
  members.Integer("hysteresis_left", &state.hysteresis_left);
  members.Enumerator("hysteresis_refill", &options.hysteresis_refill);
  members.Enumerator("growth_count", &options.growth_count);
  members.Enumerator("finite_guard", &options.finite_guard);
  members.Enumerator("unscale_arithmetic", &options.unscale_arithmetic);
  members.Enumerator("floor_action", &options.floor_action);
  members.Integer("max_consecutive_skips", &options.max_consecutive_skips);
  members.Integer("consecutive_skips", &state.consecutive_skips);
  if (!members.status().ok()) return members.status();
  return LossScaler::Dynamic(options, state);
}

}  // namespace

std::string ToJson(const LossScaler& scaler) {
  const std::string variant(scaler.kind());
  if (scaler.is_none()) return nlohmann::ordered_json(variant).dump();
  nlohmann::ordered_json members = nlohmann::ordered_json::object();
  for (const ScalerMember& member : MembersOf(scaler)) {
    std::visit([&](auto value) { members[std::string(member.name)] = value; },
               member.value);
  }
  return nlohmann::ordered_json({{variant, std::move(members)}}).dump();
}

absl::StatusOr<LossScaler> LossScalerFromJson(std::string_view json) {
  // The parser takes a NUL for the end of its input and would not see what
  // follows.
  if (const std::size_t nul = json.find('\0'); nul != json.npos) {
    return BadJson(absl::StrCat("byte ", nul + 1), "is NUL", "JSON text");
  }
  DocumentReader reader;
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  absl::StatusOr<Document> document = std::move(reader).Result();
  if (!document.ok()) return document.status();
  if (document->variant == "None") return LossScaler::None();
  return document->variant == "Static" ? ReadStatic(*document)
                                       : ReadDynamic(*document);
}

}  // namespace lossscaler
