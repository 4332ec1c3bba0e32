#include "core/report/comparison.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/number_text.h"

namespace quotient::report {
namespace {

using Json = nlohmann::ordered_json;

std::string Verdict(const Comparison& comparison) {
  if (comparison.is_same) {
    return absl::StrCat("same: ", Escaped(comparison.second), " computes what ",
                        Escaped(comparison.first), " does\n");
  }
  return absl::StrCat("different: ", Escaped(comparison.second), " is not the same as ",
                      Escaped(comparison.first), "\n");
}

// JSON has no NaN and no infinities; they are words.
Json NumberValue(double number) {
  return std::isfinite(number) ? Json(number) : Json(NumberText(number));
}
Json NumberValue(const Number& number) {
  if (const double* const real = std::get_if<double>(&number)) return NumberValue(*real);
  if (const int64_t* const integer = std::get_if<int64_t>(&number)) return Json(*integer);
  return Json(std::get<uint64_t>(number));
}

std::string PartedText(const PartedValue& parted) {
  std::string text = absl::StrCat("they part at '", Escaped(parted.name), "', which ",
                                  Escaped(parted.op), " computes");
  if (!parted.element.empty()) {
    absl::StrAppend(&text, ": ", parted.element, " is ", NumberText(parted.second), " instead of ",
                    NumberText(parted.first));
  }
  absl::StrAppend(&text, "; before it, ", Counted(parted.agreeing, "value"),
                  parted.agreeing == 1 ? " that both have by name is the same"
                                       : " that both have by name are the same");
  return text;
}

std::string SizesText(const ComparedSizes& sizes) {
  std::string text = absl::StrCat(sizes.shapes.empty() ? "its own sizes" : Escaped(sizes.shapes));
  if (!sizes.kind.empty()) absl::StrAppend(&text, " (", sizes.kind, ")");
  absl::StrAppend(&text, ": ", Counted(sizes.nodes, "node"));
  if (sizes.nodes_left_out > 0) {
    absl::StrAppend(&text, ", ", sizes.nodes_left_out, " more could not be evaluated");
  }
  return text;
}

void AppendLine(absl::string_view line, std::string* out) {
  absl::StrAppend(out, "  ", line, "\n");
}

Json ToValue(const ComparedSizes& sizes) {
  return {{"shapes", sizes.shapes},
          {"kind", sizes.kind},
          {"nodes", sizes.nodes},
          {"nodes_left_out", sizes.nodes_left_out}};
}

Json ToValue(const std::optional<PartedValue>& parted) {
  if (!parted.has_value()) return nullptr;
  return {{"value", parted->name},
          {"op", parted->op},
          {"element", parted->element},
          {"first", NumberValue(parted->first)},
          {"second", NumberValue(parted->second)},
          {"agreeing", parted->agreeing}};
}

}  // namespace

std::string ToText(const Comparison& comparison) {
  std::string text = Verdict(comparison);
  for (const std::string& difference : comparison.interface) {
    AppendLine(Escaped(difference), &text);
  }
  if (!comparison.failure.empty()) AppendLine(Escaped(comparison.failure), &text);
  if (comparison.parted.has_value()) AppendLine(PartedText(*comparison.parted), &text);
  if (comparison.is_same) {
    AppendLine(absl::StrFormat("%s, largest relative error %.2g (limit %g)",
                               Counted(comparison.input_sets, "set") + " of random inputs",
                               comparison.max_relative_error, comparison.tolerance),
               &text);
    for (const ComparedSizes& sizes : comparison.sizes) {
      AppendLine(absl::StrCat("compared at ", SizesText(sizes)), &text);
    }
  }
  for (const std::string& note : comparison.notes) {
    AppendLine(absl::StrCat("note: ", Escaped(note)), &text);
  }
  return text;
}

std::string ToJson(const Comparison& comparison) {
  Json sizes = Json::array();
  for (const ComparedSizes& each : comparison.sizes) sizes.push_back(ToValue(each));
  const Json json = {{"first", comparison.first},
                     {"second", comparison.second},
                     {"same", comparison.is_same},
                     {"interface", comparison.interface},
                     {"failure", comparison.failure},
                     {"output", comparison.output},
                     {"parted", ToValue(comparison.parted)},
                     {"input_sets", comparison.input_sets},
                     {"max_relative_error", NumberValue(comparison.max_relative_error)},
                     {"tolerance", comparison.tolerance},
                     {"sizes", sizes},
                     {"notes", comparison.notes}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::report
