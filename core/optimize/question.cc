#include "core/optimize/question.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {
namespace {

// Longer names are compared by these first characters, as the time is quadratic in them.
constexpr size_t kMostCompared = 100;

absl::Status Invalid(absl::string_view problem) {
  return MakeError(Reason::kOptionInvalid, absl::StrCat("why-not: ", problem));
}

// Time is looked at whenever so many names have been compared.
constexpr size_t kNamesBetweenChecks = 1024;

// The least number of characters to insert, to delete or to replace. If that is more than `most`,
// then any number that is.
size_t Distance(absl::string_view a, absl::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
    if (*std::ranges::min_element(row) > most) return most + 1;
  }
  return row.back();
}

}  // namespace

absl::StatusOr<Question> ParseQuestion(absl::string_view text) {
  const size_t at = text.find('@');
  if (at == absl::string_view::npos || at == 0 || at + 1 == text.size()) {
    return Invalid(absl::StrCat("'", Escaped(text), "' is not RULE@NODE"));
  }
  return Question{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

absl::Status CheckQuestions(const std::vector<std::string>& texts) {
  if (texts.empty()) return absl::OkStatus();
  if (texts.size() > kMostQuestions) {
    return Invalid(absl::StrCat("at most ", kMostQuestions, " questions, not ", texts.size()));
  }
  const std::vector<std::string>& rules = rules::AllRuleNames();
  for (const std::string& text : texts) {
    QUOTIENT_ASSIGN_OR_RETURN(const Question question, ParseQuestion(text));
    if (std::ranges::find(rules, question.rule) != rules.end()) continue;
    return Invalid(absl::StrCat("no rule is called '", Escaped(question.rule), "'",
                                NearNamesText(question.rule, rules)));
  }
  return absl::OkStatus();
}

std::vector<std::string> NearNames(absl::string_view wanted, const std::vector<std::string>& names,
                                   const StopCondition& stop) {
  constexpr size_t kMost = 3;
  const std::string asked = absl::AsciiStrToLower(wanted.substr(0, kMostCompared));
  size_t farthest = std::max<size_t>(2, asked.size() / 4);
  std::vector<std::pair<size_t, absl::string_view>> near;  // Sorted, each once.
  for (size_t i = 0; i < names.size(); ++i) {
    if (i % kNamesBetweenChecks == 0 && stop.ShouldStop()) break;
    const absl::string_view name = names[i];
    const std::string lower = absl::AsciiStrToLower(name.substr(0, kMostCompared));
    if (lower.empty()) continue;
    const bool is_part = absl::StrContains(lower, asked);
    const size_t distance =
        is_part ? lower.size() - asked.size() : Distance(asked, lower, farthest);
    if (!is_part && distance > farthest) continue;
    const std::pair<size_t, absl::string_view> found(distance, name);
    const auto at = std::ranges::lower_bound(near, found);
    if (at != near.end() && *at == found) continue;
    near.insert(at, found);
    if (near.size() > kMost) near.pop_back();
    if (near.size() == kMost) farthest = std::min(farthest, near.back().first);
  }
  std::vector<std::string> best;
  for (const auto& [distance, name] : near) best.emplace_back(name);
  return best;
}

std::string NearNamesText(absl::string_view wanted, const std::vector<std::string>& names,
                          const StopCondition& stop) {
  const std::vector<std::string> near = NearNames(wanted, names, stop);
  if (near.empty()) return "";
  return absl::StrCat(", but '", absl::StrJoin(near, "' or '"), "'");
}

}  // namespace quotient::optimize
