#include "tests/support/egraph/rewriting_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"

namespace quotient::testing {
namespace {

using egraph::Term;

absl::Status At(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", status.message()));
}

bool IsComment(absl::string_view line) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#");
}

bool HasMarkedVariables(absl::string_view rules) {
  const std::vector<absl::string_view> lines = absl::StrSplit(rules, '\n');
  return std::ranges::any_of(lines, [](absl::string_view line) {
    return !IsComment(line) && absl::StrContains(line, '?');
  });
}

// The number of characters in the name of a rule, with its colon.
size_t LengthOfName(absl::string_view line) {
  const size_t colon = line.find(':');
  return colon == line.npos || line.substr(0, colon).find_first_of("([") != line.npos ? 0
                                                                                      : colon + 1;
}

bool IsBareVariable(absl::string_view word) {
  for (absl::string_view reserved : {"true", "false", "if", "let", "and", "not"}) {
    if (word == reserved) return false;
  }
  return absl::ascii_islower(static_cast<unsigned char>(word[0]));
}

// Copies rules word by word and marks variables. Whether a word is an operator depends on the
// parentheses around it, which may be on the line before.
class VariableMarker {
 public:
  std::string Mark(absl::string_view rules) {
    bool first = true;
    for (absl::string_view line : absl::StrSplit(rules, '\n')) {
      if (!first) marked_ += '\n';
      first = false;
      const size_t kept = IsComment(line) ? line.size() : LengthOfName(line);
      absl::StrAppend(&marked_, line.substr(0, kept));
      MarkLine(line.substr(kept));
    }
    return marked_;
  }

 private:
  void MarkLine(absl::string_view line) {
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find_first_of(" \t\r\f\v()[],", at), line.size());
      if (end > at) {
        const absl::string_view word = line.substr(at, end - at);
        const bool calls = end < line.size() && (line[end] == '(' || line[end] == '[');
        const bool leaf = !operator_follows_ && !calls && brackets_ == 0;
        absl::StrAppend(&marked_, leaf && IsBareVariable(word) ? "?" : "", word);
        operator_follows_ = false;
        at = end;
      } else {
        // An operator follows in `(f x)`, but not in `f(x)` or `f[a](x)`.
        const bool after_operator = at > 0 && !absl::StrContains(" \t\r\f\v(),", line[at - 1]);
        if (line[at] == '(') operator_follows_ = !after_operator;
        brackets_ += line[at] == '[' ? 1 : line[at] == ']' ? -1 : 0;
        marked_ += line[at++];
      }
    }
  }

  std::string marked_;
  bool operator_follows_ = false;
  int brackets_ = 0;  // Number of open brackets. Attributes inside of them are text.
};

absl::Status CheckRule(const egraph::RuleText& rule, OperatorCheck& operators) {
  for (const std::vector<Term>& root : rule.left) {
    for (const Term& term : root) QUOTIENT_RETURN_IF_ERROR(operators.Check(term));
  }
  for (const egraph::LetText& let : rule.lets) {
    QUOTIENT_RETURN_IF_ERROR(operators.Check(let.term));
  }
  for (const Term& term : rule.right) QUOTIENT_RETURN_IF_ERROR(operators.Check(term));
  return absl::OkStatus();
}

// The first variable in a term; null if there is none.
const Term* FirstVariable(const Term& term) {
  if (term.sort == Term::Sort::kVariable) return &term;
  for (const Term& child : term.children) {
    if (const Term* const variable = FirstVariable(child)) return variable;
  }
  return nullptr;
}

absl::Status CheckExpression(absl::string_view text, OperatorCheck& operators) {
  QUOTIENT_ASSIGN_OR_RETURN(const Term term, egraph::ParseTerm(text));
  if (const Term* const variable = FirstVariable(term)) {
    return absl::InvalidArgumentError(
        absl::StrCat("?", Escaped(variable->name), ": only rules have variables"));
  }
  return operators.Check(term);
}

}  // namespace

absl::Status OperatorCheck::Check(const Term& term) {
  for (const Term& child : term.children) QUOTIENT_RETURN_IF_ERROR(Check(child));
  return term.sort == Term::Sort::kVariable ? absl::OkStatus() : CheckOne(term);
}

absl::Status OperatorCheck::CheckOne(const Term& term) {
  const bool leaf = term.sort == Term::Sort::kWord;
  const bool list = std::ranges::any_of(term.children, &Term::repeated);
  const auto known = arities_.find(term.name);
  if (known == arities_.end()) {
    if (closed_ && !leaf) {
      return absl::InvalidArgumentError(absl::StrCat("unknown operator ", Escaped(term.name)));
    }
    if (!closed_ && !leaf && !list) arities_.emplace(term.name, term.children.size());
    return absl::OkStatus();
  }
  // If the operators are not given, a leaf may have the name of an operator, and a list any length.
  if (!closed_ && (leaf || list)) return absl::OkStatus();
  if (!list && term.children.size() == known->second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("operator ", Escaped(term.name), " wants ", known->second, " arguments, not ",
                   list ? "a list" : absl::StrCat(term.children.size())));
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::NotFoundError(absl::StrCat(path, ": is a directory"));
  }
  absl::StatusOr<std::string> text = os::ReadFile(path);
  if (!text.ok()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  return text;
}

std::string WithMarkedVariables(absl::string_view rules) {
  if (HasMarkedVariables(rules)) return std::string(rules);
  return VariableMarker().Mark(rules);
}

absl::StatusOr<std::string> CheckedRules(absl::string_view text, absl::string_view source,
                                         OperatorCheck& operators) {
  std::string marked = WithMarkedVariables(text);
  const std::vector<egraph::RuleLine> written = egraph::SplitRules(text);
  const std::vector<egraph::RuleLine> rules = egraph::SplitRules(marked);
  if (rules.empty()) return absl::InvalidArgumentError(absl::StrCat(source, ": no rules"));
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string place = absl::StrCat(source, ":", rules[i].number);
    // Syntax errors give positions in the text, so the text as it was written is parsed first.
    QUOTIENT_RETURN_IF_ERROR(At(place, egraph::ParseRuleText(written[i].text).status()));
    QUOTIENT_ASSIGN_OR_RETURN(const egraph::RuleText rule, egraph::ParseRuleText(rules[i].text));
    QUOTIENT_RETURN_IF_ERROR(At(place, CheckRule(rule, operators)));
  }
  return marked;
}

absl::StatusOr<std::vector<Expression>> CheckedExpressions(absl::string_view text,
                                                           absl::string_view source,
                                                           OperatorCheck& operators) {
  std::vector<Expression> expressions;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view content = absl::StripAsciiWhitespace(line);
    if (content.empty() || IsComment(content)) continue;
    expressions.push_back({absl::StrCat(source, ":", number), std::string(content)});
    QUOTIENT_RETURN_IF_ERROR(At(expressions.back().place, CheckExpression(content, operators)));
  }
  if (expressions.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": no expressions"));
  }
  return expressions;
}

}  // namespace quotient::testing
