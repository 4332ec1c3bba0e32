#include "core/report/rule_figures.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/checked.h"
#include "core/base/counted.h"

namespace quotient::report {
namespace {

// Stops at the largest and smallest number: counts may come from a report that somebody has
// written.
int64_t Sum(int64_t a, int64_t b) {
  using Limits = std::numeric_limits<int64_t>;
  return CheckedAdd(a, b).value_or(a > 0 ? Limits::max() : Limits::min());
}

}  // namespace

void AddWorth(std::span<const JournalEntry> journal, const Gains& gains,
              std::map<std::string, RuleFigures>* rules) {
  for (const JournalEntry& entry : journal) {
    // The rule that made what the result has need not be a step: it may have made it for another
    // rewrite of the same entry.
    if (std::ranges::find(entry.steps, entry.rule) == entry.steps.end()) {
      ++(*rules)[entry.rule].uses;
    }
    for (const std::string& step : entry.steps) ++(*rules)[step].uses;
  }
  for (const RuleGain& gain : gains.by_rules) {
    for (const std::string& rule : gain.rules) {
      RuleFigures& figures = (*rules)[rule];
      figures.saved_us += gain.saved_us();
      if (gain.rules.size() == 1) figures.saved_alone_us += gain.saved_us();
    }
  }
}

std::vector<std::string> RulesByWorth(const std::map<std::string, RuleFigures>& rules) {
  std::vector<std::string> names;
  for (const auto& [name, figures] : rules) names.push_back(name);
  std::ranges::stable_sort(names, std::ranges::greater(), [&rules](const std::string& name) {
    const RuleFigures& figures = rules.at(name);
    return std::tuple(figures.saved_us, figures.uses);
  });
  return names;
}

std::string RulesText(const Report& report) {
  int64_t used = 0, enodes = 0, enodes_of_others = 0;
  for (const auto& [name, figures] : report.rules) {
    if (figures.uses > 0) ++used;
    enodes = Sum(enodes, figures.enodes);
    if (figures.uses == 0) enodes_of_others = Sum(enodes_of_others, figures.enodes);
  }
  if (report.rules.empty()) return "";
  return absl::StrCat(used, " of ", Counted(std::ssize(report.rules), "rule"), " with a match ",
                      used == 1 ? "is" : "are", " in the result; the others made ",
                      enodes_of_others, " of ", Counted(enodes, "e-node"));
}

}  // namespace quotient::report
