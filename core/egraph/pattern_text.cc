// A recursive-descent parser over characters. A word is a run of anything but blanks, brackets and
// commas, so operators such as `+`, `->` and `~` need no quotes; `=>`, `=` and `if` are words, too.

#include "core/egraph/pattern_text.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"

namespace quotient::egraph {
namespace {

constexpr int kMaxDepth = 200;
constexpr absl::string_view kDots = "...";

bool IsWordCharacter(char c) {
  return !absl::ascii_isspace(static_cast<unsigned char>(c)) && c != '(' && c != ')' && c != '[' &&
         c != ']' && c != ',';
}

bool IsVariable(absl::string_view word) { return word.size() > 1 && word[0] == '?'; }

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<RuleText> Rule();
  absl::StatusOr<Term> WholeTerm();

 private:
  absl::StatusOr<std::vector<Term>> Root();
  absl::StatusOr<Term> OneTerm();
  absl::StatusOr<Term> NestedTerm();
  absl::Status Brackets(Term& term);
  absl::StatusOr<std::vector<Term>> CommaSeparated();
  absl::StatusOr<std::vector<Term>> BlankSeparated();
  absl::StatusOr<std::vector<LetText>> Lets();
  absl::StatusOr<std::vector<GuardText>> Guards();

  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  // Returns the next character that is no blank, or 0 at the end.
  char Peek() {
    SkipBlanks();
    return PeekHere();
  }
  char PeekHere() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  absl::string_view PeekWord() {
    SkipBlanks();
    size_t end = at_;
    while (end < text_.size() && IsWordCharacter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool TakeWord(absl::string_view word) {
    if (PeekWord() != word) return false;
    at_ += word.size();
    return true;
  }
  // Takes "..." directly after a term.
  bool TakeDots() {
    if (!absl::StartsWith(text_.substr(at_), kDots)) return false;
    at_ += kDots.size();
    return true;
  }
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(what, " at character ", at_ + 1));
  }
  absl::Status Expect(char c) {
    if (Take(c)) return absl::OkStatus();
    return Error(absl::StrCat("expected '", std::string(1, c), "'"));
  }

  absl::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

absl::StatusOr<Term> Parser::OneTerm() {
  if (depth_ == kMaxDepth) return Error("nested too deeply");
  ++depth_;
  absl::StatusOr<Term> term = NestedTerm();
  --depth_;
  if (term.ok() && TakeDots()) term->repeated = true;
  return term;
}

absl::StatusOr<Term> Parser::NestedTerm() {
  Term term;
  const bool prefix = Take('(');  // The form (op x y).
  absl::string_view word = PeekWord();
  at_ += word.size();
  // The dots of `?xs...` were read as part of the word; they are left for OneTerm.
  if (!prefix && word.size() > kDots.size() && absl::EndsWith(word, kDots)) {
    word.remove_suffix(kDots.size());
    at_ -= kDots.size();
  }
  if (word.empty() || word == "=>" || word == "=" || word == "if" || word == "let") {
    return Error("expected a term");
  }
  term.name = std::string(word);
  if (!prefix && IsVariable(word)) {
    term.sort = Term::Sort::kVariable;
    term.name.erase(0, 1);
    return term;
  }
  if (word[0] == '?') return Error("expected an operator");
  QUOTIENT_RETURN_IF_ERROR(Brackets(term));
  if (prefix) {
    QUOTIENT_ASSIGN_OR_RETURN(term.children, BlankSeparated());
  } else if (PeekHere() == '(') {
    ++at_;
    QUOTIENT_ASSIGN_OR_RETURN(term.children, CommaSeparated());
  } else if (term.brackets == Term::Brackets::kNone) {
    return term;  // A bare word.
  }
  term.sort = Term::Sort::kApply;
  return term;
}

// Parses [?c], [f(..)] or [any text with balanced brackets] directly after the operator.
absl::Status Parser::Brackets(Term& term) {
  if (PeekHere() != '[') return absl::OkStatus();
  const size_t begin = ++at_;
  const absl::string_view word = PeekWord();
  at_ += word.size();
  if (IsVariable(word) && PeekHere() == ']') {
    term.brackets = Term::Brackets::kVariable;
    term.attributes = std::string(word.substr(1));
    ++at_;
    return absl::OkStatus();
  }
  if (!word.empty() && PeekHere() == '(') {
    ++at_;
    term.brackets = Term::Brackets::kCall;
    term.attributes = std::string(word);
    QUOTIENT_ASSIGN_OR_RETURN(term.arguments, CommaSeparated());
    return Expect(']');
  }
  at_ = begin;
  for (int open = 1; open > 0; ++at_) {
    if (at_ == text_.size()) return Error("expected ']'");
    open += text_[at_] == '[' ? 1 : text_[at_] == ']' ? -1 : 0;
  }
  term.brackets = Term::Brackets::kText;
  term.attributes = std::string(absl::StripAsciiWhitespace(text_.substr(begin, at_ - 1 - begin)));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Term>> Parser::CommaSeparated() {
  std::vector<Term> terms;
  if (Take(')')) return terms;
  do {
    QUOTIENT_ASSIGN_OR_RETURN(Term term, OneTerm());
    terms.push_back(std::move(term));
  } while (Take(','));
  QUOTIENT_RETURN_IF_ERROR(Expect(')'));
  return terms;
}

absl::StatusOr<std::vector<Term>> Parser::BlankSeparated() {
  std::vector<Term> terms;
  while (!Take(')')) {
    QUOTIENT_ASSIGN_OR_RETURN(Term term, OneTerm());
    terms.push_back(std::move(term));
  }
  return terms;
}

absl::StatusOr<std::vector<Term>> Parser::Root() {
  std::vector<Term> equated;
  do {
    QUOTIENT_ASSIGN_OR_RETURN(Term term, OneTerm());
    equated.push_back(std::move(term));
  } while (TakeWord("="));
  return equated;
}

absl::StatusOr<std::vector<LetText>> Parser::Lets() {
  std::vector<LetText> lets;
  do {
    QUOTIENT_ASSIGN_OR_RETURN(Term variable, OneTerm());
    if (variable.sort != Term::Sort::kVariable || variable.repeated || !TakeWord("=")) {
      return Error("expected ?variable = term");
    }
    QUOTIENT_ASSIGN_OR_RETURN(Term term, OneTerm());
    lets.push_back({std::move(variable.name), std::move(term)});
  } while (Take(','));
  return lets;
}

absl::StatusOr<std::vector<GuardText>> Parser::Guards() {
  std::vector<GuardText> guards;
  do {
    const bool negated = TakeWord("not");
    QUOTIENT_ASSIGN_OR_RETURN(Term call, OneTerm());
    if (call.sort != Term::Sort::kApply || call.brackets != Term::Brackets::kNone ||
        call.repeated) {
      return Error("expected guard(..)");
    }
    guards.push_back({std::move(call.name), negated, std::move(call.children)});
  } while (TakeWord("and") || Take(','));
  return guards;
}

absl::StatusOr<RuleText> Parser::Rule() {
  RuleText rule;
  const absl::string_view name = text_.substr(0, text_.find(':'));
  if (name.size() < text_.size() && name.find_first_of("([") == name.npos) {
    rule.name = std::string(absl::StripAsciiWhitespace(name));
    if (rule.name.empty()) return Error("expected a name");
    at_ = name.size() + 1;
  }
  rule.equation = std::string(absl::StripAsciiWhitespace(text_.substr(at_)));
  do {
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<Term> root, Root());
    rule.left.push_back(std::move(root));
  } while (Take(','));
  if (!TakeWord("=>")) return Error("expected '=>'");
  do {
    QUOTIENT_ASSIGN_OR_RETURN(Term term, OneTerm());
    rule.right.push_back(std::move(term));
  } while (Take(','));
  if (TakeWord("let")) {
    QUOTIENT_ASSIGN_OR_RETURN(rule.lets, Lets());
  }
  if (TakeWord("if")) {
    QUOTIENT_ASSIGN_OR_RETURN(rule.guards, Guards());
  }
  SkipBlanks();
  if (at_ != text_.size()) return Error("unexpected text");
  return rule;
}

absl::StatusOr<Term> Parser::WholeTerm() {
  QUOTIENT_ASSIGN_OR_RETURN(Term term, OneTerm());
  SkipBlanks();
  if (at_ != text_.size()) return Error("unexpected text");
  return term;
}

}  // namespace

std::vector<RuleLine> SplitRules(absl::string_view file) {
  std::vector<RuleLine> rules;
  std::string comment;  // All of its lines.
  bool inside = false;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    ++number;
    const absl::string_view content = absl::StripAsciiWhitespace(line);
    if (content.empty()) {
      comment.clear();
      inside = false;
    } else if (content[0] == '#') {
      absl::StrAppend(&comment, comment.empty() ? "" : " ",
                      absl::StripAsciiWhitespace(content.substr(1)));
      inside = false;
    } else if (inside && absl::ascii_isspace(static_cast<unsigned char>(line[0]))) {
      absl::StrAppend(&rules.back().text, " ", content);
    } else {
      rules.push_back({number, std::string(content), std::exchange(comment, {})});
      inside = true;
    }
  }
  return rules;
}

absl::StatusOr<RuleText> ParseRuleText(absl::string_view text) { return Parser(text).Rule(); }

absl::StatusOr<Term> ParseTerm(absl::string_view text) { return Parser(text).WholeTerm(); }

namespace {

std::string ListText(const std::vector<Term>& terms) {
  return absl::StrJoin(
      terms, ", ", [](std::string* out, const Term& term) { absl::StrAppend(out, ToText(term)); });
}

std::string BracketsText(const Term& term) {
  switch (term.brackets) {
    case Term::Brackets::kNone:
      return "";
    case Term::Brackets::kVariable:
      return absl::StrCat("[?", term.attributes, "]");
    case Term::Brackets::kText:
      return absl::StrCat("[", term.attributes, "]");
    case Term::Brackets::kCall:
      return absl::StrCat("[", term.attributes, "(", ListText(term.arguments), ")]");
  }
  return "";
}

}  // namespace

std::string ToText(const Term& term) {
  const absl::string_view dots = term.repeated ? kDots : "";
  if (term.sort == Term::Sort::kVariable) return absl::StrCat("?", term.name, dots);
  if (term.sort == Term::Sort::kWord) return absl::StrCat(term.name, dots);
  return absl::StrCat(term.name, BracketsText(term), "(", ListText(term.children), ")", dots);
}

std::string ToText(const GuardText& guard) {
  return absl::StrCat(guard.negated ? "not " : "", guard.name, "(", ListText(guard.arguments), ")");
}

}  // namespace quotient::egraph
