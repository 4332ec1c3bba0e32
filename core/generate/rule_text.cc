#include "core/generate/rule_text.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/generate/words.h"

namespace quotient::generate {
namespace {

class Writer {
 public:
  Writer(const Terms& terms, const RuleStyle& style) : terms_(terms), style_(style) {}

  std::string Side(TermId id, bool is_left) {
    const Term& term = terms_.term(id);
    if (term.is_variable()) return Name(term.variable);
    std::vector<std::string> operands;
    const std::string head = absl::StrCat(terms_.op(id).name, Brackets(term.op, is_left));
    for (const TermId operand : terms_.operands(id)) operands.push_back(Side(operand, is_left));
    return absl::StrCat(head, "(", absl::StrJoin(operands, ", "), ")");
  }

  std::vector<std::string> Guards(TermId left) const {
    std::vector<std::string> guards;
    AddAxes(guards);
    const std::vector<int> variables = terms_.VariablesOf(left);
    for (const int each : variables) {
      if (style_.has_elements) guards.push_back(absl::StrCat("has_elements(", Name(each), ")"));
      // What is true of a scalar is seldom true of what only some axes are broadcast to.
      if (!style_.same_ranks && !Dims(each).empty()) continue;
      guards.push_back(absl::StrCat("has_rank(", Name(each), ", ", Dims(each).size(), ")"));
    }
    if (style_.same_types) AddTypes(variables, guards);
    return guards;
  }

 private:
  std::string Name(int variable) const {
    return absl::StrCat("?", terms_.universe().variables[variable].name);
  }
  static std::string WordName(size_t index) {
    return absl::StrCat("?", std::string(1, static_cast<char>('A' + index)));
  }
  const Ints& Dims(int variable) const { return terms_.universe().variables[variable].dims; }

  void AddAxes(std::vector<std::string>& guards) const {
    using Axes = RuleStyle::Axes;
    const bool is_fixed = style_.axes == Axes::kSame || style_.axes == Axes::kFixed;
    for (size_t i = 0; is_fixed && i < words_.size(); ++i) {
      const std::optional<int64_t> axis = AxisOf(words_[i]);
      if (axis) guards.push_back(absl::StrCat("along(", WordName(i), ", ", *axis, ")"));
    }
    for (size_t i = 1; style_.axes == Axes::kRelated && i < words_.size(); ++i) {
      const bool is_one = AxisOf(words_[i - 1]) == AxisOf(words_[i]);
      guards.push_back(absl::StrCat(is_one ? "one_axis(" : "two_axes(", WordName(i - 1), ", ",
                                    WordName(i), ")"));
    }
  }

  void AddTypes(std::span<const int> variables, std::vector<std::string>& guards) const {
    for (size_t i = 0; i < variables.size(); ++i) {
      for (size_t j = i + 1; j < variables.size(); ++j) {
        if (Dims(variables[i]) != Dims(variables[j])) continue;
        guards.push_back(absl::StrCat("same(", Name(variables[i]), ", ", Name(variables[j]), ")"));
        break;  // The next one is compared with this one's successor.
      }
    }
    for (const int large : variables) {
      for (const int small : variables) {
        if (Dims(large) == Dims(small) || !Keeps(Dims(large), Dims(small))) continue;
        guards.push_back(absl::StrCat("keeps(", Name(large), ", ", Name(small), ")"));
      }
    }
  }
  // Whether broadcasting `small` against `large` gives the shape of `large`.
  static bool Keeps(const Ints& large, const Ints& small) {
    if (small.size() > large.size()) return false;
    for (size_t i = 0; i < small.size(); ++i) {
      const int64_t dim = small[small.size() - 1 - i];
      if (dim != 1 && dim != large[large.size() - 1 - i]) return false;
    }
    return true;
  }
  // The axis along which alone the operator works, as `along` asks for it.
  std::optional<int64_t> AxisOf(int op) const {
    const AttributeMap& attributes = terms_.universe().operators[op].attributes;
    const Ints* const axes = attributes.FindInts("axes");
    if (axes != nullptr && axes->size() == 1) return axes->front();
    if (!attributes.Has("axis")) return std::nullopt;
    return attributes.GetInt("axis", 0);
  }

  // An operator becomes a variable where it stands first, on the left.
  std::string Brackets(int op, bool is_left) {
    const Operator& word = terms_.universe().operators[op];
    using Axes = RuleStyle::Axes;
    const bool is_any = style_.axes == Axes::kAny || style_.axes == Axes::kFixed;
    const bool is_general = style_.any_words && (is_any || AxisOf(op).has_value());
    if (!is_general || !MayHaveAttributes(word)) return InBrackets(word);
    const size_t index = std::ranges::find(words_, op) - words_.begin();
    if (index == words_.size()) {
      if (!is_left) return InBrackets(word);
      words_.push_back(op);
    }
    return absl::StrCat("[", WordName(index), "]");
  }

  const Terms& terms_;
  const RuleStyle& style_;
  std::vector<int> words_;  // Operators that became variables.
};

// The variables of a term by index, renamed so that those of a type stand in the order in which the
// terms have them first.
std::vector<int> Renaming(const Terms& terms, TermId first, TermId second) {
  const std::vector<Variable>& variables = terms.universe().variables;
  std::vector<int> order = terms.VariablesOf(first);
  for (const int each : terms.VariablesOf(second)) {
    if (std::ranges::find(order, each) == order.end()) order.push_back(each);
  }
  std::vector<int> renamed(variables.size());
  std::iota(renamed.begin(), renamed.end(), 0);
  std::vector<bool> taken(variables.size(), false);
  for (const int each : order) {
    for (size_t other = 0; other < variables.size(); ++other) {
      if (taken[other] || variables[other].dims != variables[each].dims ||
          variables[other].is_weight != variables[each].is_weight) {
        continue;
      }
      taken[other] = true;
      renamed[each] = static_cast<int>(other);
      break;
    }
  }
  return renamed;
}

}  // namespace

const std::vector<RuleStyle>& RuleStyles() {
  using Axes = RuleStyle::Axes;
  static const auto& styles = *[] {
    auto* all = new std::vector<RuleStyle>;
    const auto add = [all](RuleStyle style) {
      for (const bool has_elements : {false, true}) {
        for (const bool same_types : {false, true}) {
          style.has_elements = has_elements;
          style.same_types = same_types;
          all->push_back(style);
        }
      }
    };
    add({});
    add({.same_ranks = true});
    add({.axes = Axes::kRelated});
    add({.axes = Axes::kRelated, .same_ranks = true});
    add({.axes = Axes::kFixed, .same_ranks = true});
    add({.axes = Axes::kSame, .same_ranks = true});
    add({.any_words = false, .same_ranks = true});
    return all;
  }();
  return styles;
}

std::optional<std::string> RuleText(const Terms& terms, TermId left, TermId right,
                                    const RuleStyle& style) {
  if (terms.term(left).is_variable()) return std::nullopt;
  const std::vector<int> bound = terms.VariablesOf(left);
  for (const int variable : terms.VariablesOf(right)) {
    if (std::ranges::find(bound, variable) == bound.end()) return std::nullopt;
  }
  Writer writer(terms, style);
  std::string text = absl::StrCat(RuleName(terms, left), ": ", writer.Side(left, true));
  absl::StrAppend(&text, " => ", writer.Side(right, false));
  const std::vector<std::string> guards = writer.Guards(left);
  if (!guards.empty()) absl::StrAppend(&text, " if ", absl::StrJoin(guards, " and "));
  return text;
}

std::string RuleName(const Terms& terms, TermId left) {
  std::vector<std::string> names;
  const auto add = [&](const auto& self, TermId id) -> void {
    if (terms.term(id).is_variable()) return;
    names.push_back(absl::AsciiStrToLower(terms.op(id).name));
    for (const TermId operand : terms.operands(id)) self(self, operand);
  };
  add(add, left);
  return absl::StrJoin(names, "-");
}

Equation Canonical(Terms& terms, TermId left, TermId right) {
  const auto written = [&terms](TermId first, TermId second) {
    const std::vector<int> renaming = Renaming(terms, first, second);
    Equation equation{terms.Renamed(first, renaming), terms.Renamed(second, renaming), ""};
    equation.text = absl::StrCat(terms.Text(equation.left), " = ", terms.Text(equation.right));
    return equation;
  };
  Equation one = written(left, right);
  Equation other = written(right, left);
  return one.text <= other.text ? one : other;
}

}  // namespace quotient::generate
