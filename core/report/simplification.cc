#include "core/report/simplification.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/report/name_text.h"

namespace quotient::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kWidthOfOperator = 30;

int64_t CountOf(const ModelFigures& figures, const std::string& op) {
  const auto found = figures.operators.find(op);
  return found == figures.operators.end() ? 0 : found->second;
}

// "  -3", "  +1"; empty if nothing changed.
std::string ChangeText(int64_t before, int64_t after) {
  return before == after ? "" : absl::StrFormat("  %+d", after - before);
}

void AppendRow(absl::string_view name, int64_t before, int64_t after, std::string* out) {
  absl::StrAppendFormat(out, "  %-*s %12d %12d%s\n", static_cast<int>(kWidthOfOperator),
                        ShortName(name, kWidthOfOperator), before, after,
                        ChangeText(before, after));
}

// The operators that became fewer or more come first, by how many.
void AppendOperators(const Simplification& simplification, std::string* out) {
  std::map<std::string, int64_t> all = simplification.before.operators;
  all.insert(simplification.after.operators.begin(), simplification.after.operators.end());
  std::vector<std::string> names;
  for (const auto& [op, count] : all) names.push_back(op);
  const auto change = [&](const std::string& op) {
    return std::abs(CountOf(simplification.before, op) - CountOf(simplification.after, op));
  };
  std::ranges::stable_sort(
      names, [&](const std::string& a, const std::string& b) { return change(a) > change(b); });
  for (const std::string& op : names) {
    AppendRow(op, CountOf(simplification.before, op), CountOf(simplification.after, op), out);
  }
}

std::string OutcomeText(const Simplification& simplification) {
  if (simplification.is_same_graph) return "the graph is that of the model, node for node";
  if (!simplification.verification.passed) return "the model came back as it was";
  return CheckText(simplification.verification);
}

Json ToValue(const Verification& check) {
  if (!check.passed) return nullptr;
  return {{"inputs", check.inputs},
          {"max_relative_error", check.max_relative_error},
          {"tolerance", check.tolerance},
          {"sizes", BindingLines(check)}};
}

Json ToValue(const ModelFigures& figures) {
  return {{"nodes", figures.nodes()}, {"bytes", figures.bytes}, {"operators", figures.operators}};
}

}  // namespace

int64_t ModelFigures::nodes() const {
  int64_t sum = 0;
  for (const auto& [op, count] : operators) sum += count;
  return sum;
}

std::string ToText(const Simplification& simplification) {
  std::string text = absl::StrCat(Escaped(simplification.model_name), "\n");
  absl::StrAppendFormat(&text, "  %-*s %12s %12s\n", static_cast<int>(kWidthOfOperator), "operator",
                        "before", "after");
  AppendOperators(simplification, &text);
  AppendRow("nodes", simplification.before.nodes(), simplification.after.nodes(), &text);
  AppendRow("bytes", simplification.before.bytes, simplification.after.bytes, &text);
  if (!simplification.rules.empty()) {
    absl::StrAppend(
        &text, "  rules: ",
        absl::StrJoin(simplification.rules, ", ",
                      [](std::string* out, const std::pair<const std::string, int64_t>& rule) {
                        absl::StrAppend(out, rule.first, " x ", rule.second);
                      }),
        "\n");
  }
  absl::StrAppend(&text, "  checked: ", OutcomeText(simplification), "\n");
  for (const std::string& line : BindingLines(simplification.verification)) {
    absl::StrAppend(&text, "           ", Escaped(line), "\n");
  }
  absl::StrAppendFormat(&text, "  took %.2f s, %.2f s of it for the check\n",
                        simplification.seconds, simplification.check_seconds);
  for (const std::string& note : simplification.notes) {
    absl::StrAppend(&text, "  note: ", Escaped(note), "\n");
  }
  return text;
}

std::string ToJson(const Simplification& simplification) {
  const Json json = {{"model", simplification.model_name},
                     {"simplified", simplification.is_simplified},
                     {"same_graph", simplification.is_same_graph},
                     {"before", ToValue(simplification.before)},
                     {"after", ToValue(simplification.after)},
                     {"rules", simplification.rules},
                     {"check", ToValue(simplification.verification)},
                     {"seconds", simplification.seconds},
                     {"check_seconds", simplification.check_seconds},
                     {"notes", simplification.notes}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::report
