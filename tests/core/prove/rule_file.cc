#include "tests/core/prove/rule_file.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_program.h"
#include "core/ops/op.h"
#include "core/os/files.h"
#include "core/rules/rule_set.h"
#include "tests/core/rules/rule_cases.h"

namespace quotient::prove {
namespace {

using egraph::RuleText;
using egraph::Term;

void AddAllWords(rules::Words& words) {
  for (const rules::Family& family : rules::AllFamilies()) {
    if (family.add_words != nullptr) family.add_words(words);
  }
}

int CountOperators(const Term& term) {
  int count = term.sort == Term::Sort::kApply ? 1 : 0;
  for (const Term& child : term.children) count += CountOperators(child);
  return count;
}

int CountLeftOperators(const RuleText& rule) {
  int count = 0;
  for (const std::vector<Term>& root : rule.left) {
    for (const Term& term : root) count += CountOperators(term);
  }
  return count;
}

// How many operands an e-node of the operator has at least: parameters are attributes in canonical
// form, so those in the last places are left out.
int FewestOperands(const ops::OpDef& def) {
  const auto is_parameter = [&](int input) {
    return std::ranges::find(def.parameters, input, &ops::Parameter::input) != def.parameters.end();
  };
  int fewest = def.min_inputs;
  while (fewest > 0 && is_parameter(fewest - 1)) --fewest;
  return fewest;
}

// "Relu has 2 operands, but takes 1" if that is so of the term itself; empty if its number of
// operands is right. Lists may have any number.
std::string WrongOperandsOf(const Term& term) {
  const ops::OpDef* const def = term.sort == Term::Sort::kApply ? ops::FindOp(term.name) : nullptr;
  if (def == nullptr || std::ranges::any_of(term.children, &Term::repeated)) return "";
  const auto count = static_cast<int>(term.children.size());
  const int fewest = FewestOperands(*def);
  const bool has_no_most = def->max_inputs < 0;
  if (count >= fewest && (has_no_most || count <= def->max_inputs)) return "";
  std::string text =
      absl::StrCat(term.name, " has ", Counted(count, "operand"), ", but takes ", fewest);
  if (has_no_most) return text + " or more";
  return def->max_inputs == fewest ? text : absl::StrCat(text, " to ", def->max_inputs);
}

// The same of the term and its parts.
std::string WrongOperands(const Term& term) {
  std::string wrong = WrongOperandsOf(term);
  for (const Term& child : term.children) {
    if (wrong.empty()) wrong = WrongOperands(child);
  }
  return wrong;
}

// The same for all terms of a rule.
std::string WrongOperands(const RuleText& rule) {
  std::vector<const Term*> terms;
  for (const std::vector<Term>& root : rule.left) {
    for (const Term& term : root) terms.push_back(&term);
  }
  for (const Term& term : rule.right) terms.push_back(&term);
  for (const egraph::LetText& let : rule.lets) terms.push_back(&let.term);
  for (const Term* const term : terms) {
    std::string wrong = WrongOperands(*term);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// What stands before the colon, even of a text that is no rule; empty if there is none.
std::string NameIn(absl::string_view text, const absl::StatusOr<RuleText>& parsed) {
  if (parsed.ok()) return parsed->name;
  const absl::string_view name = text.substr(0, text.find(':'));
  return name.size() == text.size() ? "" : std::string(name);
}

bool IsName(absl::string_view name) {
  const auto is_letter = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kMostRuleName && std::ranges::all_of(name, is_letter);
}

class Reader {
 public:
  Reader(absl::string_view text, absl::string_view source) : text_(text), source_(source) {}

  absl::StatusOr<std::vector<FileRule>> Read() {
    QUOTIENT_RETURN_IF_ERROR(CheckBytes());
    const std::vector<egraph::RuleLine> lines = egraph::SplitRules(text_);
    if (lines.empty()) return absl::InvalidArgumentError(absl::StrCat(source_, " has no rules"));
    if (lines.size() > kMostFileRules) {
      return ErrorAt(lines[kMostFileRules].number,
                     absl::StrCat("more than ", kMostFileRules, " rules"));
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(Add(lines[i], absl::StrCat("rule-", i + 1)));
    }
    return std::move(rules_);
  }

 private:
  absl::Status ErrorAt(size_t line, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(source_, ":", line, ": ", what));
  }

  absl::Status CheckBytes() const {
    if (text_.size() > kMostFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(source_, " has more than ", kMostFileBytes, " bytes"));
    }
    const auto controls = [](unsigned char c) {
      return absl::ascii_iscntrl(c) && c != '\n' && c != '\r' && c != '\t';
    };
    const auto found = std::ranges::find_if(text_, controls);
    if (found == text_.end()) return absl::OkStatus();
    return ErrorAt(1 + std::count(text_.begin(), found, '\n'), "a control character");
  }

  absl::Status Add(const egraph::RuleLine& line, const std::string& default_name) {
    if (line.text.size() > kMostRuleBytes) {
      return ErrorAt(line.number, absl::StrCat("a rule of more than ", kMostRuleBytes, " bytes"));
    }
    absl::StatusOr<RuleText> parsed = egraph::ParseRuleText(line.text);
    std::string name = NameIn(line.text, parsed);
    if (name.empty()) name = default_name;
    const auto error = [&](absl::string_view what) {
      return ErrorAt(line.number, absl::StrCat("rule ", Escaped(name), ": ", Escaped(what)));
    };
    if (!parsed.ok()) return error(parsed.status().message());
    if (!IsName(name)) {
      return error(
          absl::StrCat("a name has letters, digits, '-', '_' and '.', at most ", kMostRuleName));
    }
    if (CountLeftOperators(*parsed) > kMostLeftOperators) {
      return error(absl::StrCat("more than ", kMostLeftOperators, " operators on the left"));
    }
    if (const std::string wrong = WrongOperands(*parsed); !wrong.empty()) return error(wrong);
    parsed->name = name;
    if (const absl::Status status = Compile(*parsed); !status.ok()) return error(status.message());
    return Keep(line.number, *std::move(parsed), error);
  }

  template <typename Error>
  absl::Status Keep(size_t line, RuleText rule, const Error& error) {
    if (!rules_.empty() && rules_.back().name == rule.name) {
      rules_.back().alternatives.push_back(std::move(rule));
      return absl::OkStatus();
    }
    const auto [first, is_new] = line_of_.emplace(rule.name, line);
    if (!is_new) {
      return error(absl::StrCat("line ", first->second,
                                " has another rule of this name; alternatives of one rule stand "
                                "directly below each other"));
    }
    rules_.push_back({rule.name, line, {}});
    rules_.back().alternatives.push_back(std::move(rule));
    return absl::OkStatus();
  }

  static absl::Status Compile(const RuleText& rule) {
    domain::TensorDomain domain;
    rules::Words words(&domain);
    rules::AddCommonWords(words);
    AddAllWords(words);
    return egraph::CompileProgram(rule, words.vocabulary()).status();
  }

  const absl::string_view text_;
  const absl::string_view source_;
  std::vector<FileRule> rules_;
  std::map<std::string, size_t> line_of_;  // By name of a rule.
};

}  // namespace

absl::StatusOr<std::vector<FileRule>> ParseRuleFile(absl::string_view text,
                                                    absl::string_view source) {
  return Reader(text, source).Read();
}

absl::StatusOr<std::vector<FileRule>> ReadRuleFile(const std::string& path) {
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(path, O_RDONLY));
  QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::MappedFile::Map(fd, path));
  return ParseRuleFile(file->bytes(), path);
}

RuleMaker MakerOf(const FileRule& rule) {
  std::string lines;
  for (const RuleText& each : rule.alternatives) {
    absl::StrAppend(&lines, rule.name, ": ", each.equation, "\n");
  }
  return [lines = std::move(lines)](
             domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
    domain->LimitOpset(rules::kNewestOpset);
    const rules::Family family = {"file", lines.c_str(), AddAllWords, nullptr};
    QUOTIENT_ASSIGN_OR_RETURN(rules::RuleSet made,
                              rules::BuildFamilies(domain, std::span(&family, 1), {}));
    const auto set = std::make_shared<const rules::RuleSet>(std::move(made));
    return std::shared_ptr<const egraph::Rule>(set, set->rules()[0]);
  };
}

}  // namespace quotient::prove
