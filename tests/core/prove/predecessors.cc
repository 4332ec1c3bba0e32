#include "tests/core/prove/predecessors.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace quotient::prove {
namespace {

[[noreturn]] void Die(absl::string_view where, absl::string_view what) {
  std::cerr << where << ": " << what << "\n";
  std::abort();
}

// --- Reading ---

class Reader {
 public:
  Reader(std::string path, std::vector<Predecessor>* rules)
      : path_(std::move(path)), rules_(rules) {}

  void Read() {
    std::ifstream file(path_);
    if (!file) Die(path_, "cannot be read");
    std::string statement;
    for (std::string line; std::getline(file, line);) {
      const absl::string_view content = absl::StripAsciiWhitespace(line);
      if (content.empty() || content[0] == '#') continue;
      if (absl::ascii_isspace(static_cast<unsigned char>(line[0]))) {
        absl::StrAppend(&statement, " ", content);
      } else {
        Take(statement);
        statement = std::string(content);
      }
    }
    Take(statement);
  }

 private:
  void Take(absl::string_view statement) {
    if (statement.empty()) return;
    if (absl::ConsumePrefix(&statement, "rule ")) {
      if (!naming_) first_ = rules_->size();
      naming_ = true;
      return Begin(statement);
    }
    naming_ = false;
    if (absl::ConsumePrefix(&statement, "size ")) {
      const std::vector<std::string> words = absl::StrSplit(statement, absl::ByAnyChar(" -"));
      std::pair<int, int>& range = sizes_[words[0]];
      if (words.size() != 3 || !absl::SimpleAtoi(words[1], &range.first) ||
          !absl::SimpleAtoi(words[2], &range.second)) {
        Die(path_, statement);
      }
    } else if (absl::ConsumePrefix(&statement, "let ")) {
      const std::pair<std::string, std::string> both =
          absl::StrSplit(statement, absl::MaxSplits(' ', 1));
      texts_[both.first] = both.second;
    } else if (absl::ConsumePrefix(&statement, "operands ")) {
      operands_ = std::string(statement);
    } else {
      for (size_t i = first_; i < rules_->size(); ++i) Describe(statement, (*rules_)[i]);
    }
  }

  void Begin(absl::string_view words) {
    const std::pair<std::string, std::string> both = absl::StrSplit(words, absl::MaxSplits(' ', 1));
    Predecessor& rule = rules_->emplace_back();
    rule.name = both.first;
    rule.operands = operands_;
    rule.sizes = sizes_;
    rule.texts = texts_;
    for (const auto& [name, text] : ReadBindings(both.second)) rule.texts[name] = text;
  }

  Bindings ReadBindings(absl::string_view words) const {
    Bindings bindings;
    for (const absl::string_view word : absl::StrSplit(words, ' ', absl::SkipEmpty())) {
      const std::vector<std::string> both = absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (both.size() != 2) Die(path_, absl::StrCat("no binding: ", word));
      bindings[both[0]] = both[1];
    }
    return bindings;
  }

  void Describe(absl::string_view statement, Predecessor& rule) const {
    if (absl::ConsumePrefix(&statement, "says ")) {
      rule.equation = std::string(statement);
    } else if (absl::ConsumePrefix(&statement, "left ")) {
      rule.left = std::string(statement);
    } else if (absl::ConsumePrefix(&statement, "right ")) {
      rule.right = std::string(statement);
    } else if (absl::ConsumePrefix(&statement, "holds ")) {
      rule.holds = ReadBindings(statement);
    } else if (absl::ConsumePrefix(&statement, "fails ")) {
      rule.fails = ReadBindings(statement);
    } else if (!ReadMark(statement, rule) && !ReadDerivation(statement, rule)) {
      Die(path_, absl::StrCat("unknown keyword: ", statement));
    }
  }

  static bool ReadMark(absl::string_view statement, Predecessor& rule) {
    for (const Mark mark : {Mark::kSound, Mark::kRepaired, Mark::kRefused}) {
      if (!absl::ConsumePrefix(&statement, NameOf(mark))) continue;
      rule.mark = mark;
      rule.why = std::string(absl::StripAsciiWhitespace(statement));
      return true;
    }
    return false;
  }

  static bool ReadDerivation(absl::string_view statement, Predecessor& rule) {
    if (absl::ConsumePrefix(&statement, "by design ")) {
      rule.by_design = std::string(statement);
      return true;
    }
    for (const Derivation derivation :
         {Derivation::kDerived, Derivation::kForWeights, Derivation::kNotDerived}) {
      if (statement != NameOf(derivation)) continue;
      rule.derivation = derivation;
      return true;
    }
    return false;
  }

  const std::string path_;
  std::vector<Predecessor>* const rules_;
  std::map<std::string, std::pair<int, int>> sizes_;
  Bindings texts_;
  std::string operands_;
  bool naming_ = false;  // Whether the last statement was a `rule`.
  size_t first_ = 0;     // The rules from here on share the lines that follow.
};

// --- Instances ---

// Replaces names by what they stand for.
class Expansion {
 public:
  Expansion(std::string where, Bindings bindings)
      : where_(std::move(where)), bindings_(std::move(bindings)) {}

  std::string Of(absl::string_view text) const {
    std::string expanded;
    while (!text.empty()) {
      const size_t plain = std::min(text.find('$'), text.size());
      absl::StrAppend(&expanded, text.substr(0, plain));
      text.remove_prefix(plain);
      if (!absl::ConsumePrefix(&text, "$")) break;
      if (absl::ConsumePrefix(&text, "(")) {
        const size_t end = text.find(')');
        if (end == absl::string_view::npos) Die(where_, "( without )");
        absl::StrAppend(&expanded, Sum(text.substr(0, end)));
        text.remove_prefix(end + 1);
      } else {
        absl::StrAppend(&expanded, Of(TakeName(text)->second));
      }
    }
    return expanded;
  }

 private:
  Bindings::const_iterator Find(absl::string_view name) const {
    const auto found = bindings_.find(std::string(name));
    if (found == bindings_.end()) Die(where_, absl::StrCat("nothing is called ", name));
    return found;
  }

  Bindings::const_iterator TakeName(absl::string_view& text) const {
    size_t end = 0;
    while (end < text.size() && absl::ascii_isalnum(static_cast<unsigned char>(text[end]))) ++end;
    const auto found = Find(text.substr(0, end));
    text.remove_prefix(end);
    return found;
  }

  int64_t Sum(absl::string_view text) const {
    int64_t sum = 0;
    for (const absl::string_view summand : absl::StrSplit(text, '+')) {
      int64_t product = 1;
      for (const absl::string_view factor : absl::StrSplit(summand, '*')) product *= Number(factor);
      sum += product;
    }
    return sum;
  }

  int64_t Number(absl::string_view word) const {
    int64_t number;
    if (absl::SimpleAtoi(word, &number)) return number;
    const std::string text = Of(Find(word)->second);
    if (!absl::SimpleAtoi(text, &number)) Die(where_, absl::StrCat(text, " is no number"));
    return number;
  }

  const std::string where_;
  const Bindings bindings_;
};

// Declares weights as inputs or constants.
std::string Declared(absl::string_view operands, Weights weights) {
  std::vector<std::string> words = absl::StrSplit(operands, ' ', absl::SkipEmpty());
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i] != "weight") continue;
    words[i] = weights == Weights::kInputs ? "input" : "const";
    if (weights == Weights::kConstants) absl::StrAppend(&words[i + 2], " = random(", i + 1, ")");
  }
  return absl::StrJoin(words, " ");
}

PredecessorInstance InstanceOf(const Predecessor& rule, const Bindings& bindings, Weights weights) {
  const Expansion expansion(rule.name, bindings);
  PredecessorInstance instance;
  instance.operands = Declared(expansion.Of(rule.operands), weights);
  instance.left = expansion.Of(rule.left);
  instance.right = expansion.Of(rule.right);
  if (absl::StrContains(instance.left, "l1 = ")) {
    instance.left_outputs = {"l0", "l1"};
    instance.right_outputs = {"r0", "r1"};
  } else {
    instance.left_outputs = {"l"};
    instance.right_outputs = {"r"};
  }
  return instance;
}

}  // namespace

const char* NameOf(Mark mark) {
  switch (mark) {
    case Mark::kSound:
      return "sound";
    case Mark::kRepaired:
      return "repaired";
    case Mark::kRefused:
      return "refused";
  }
  return "";
}

const char* NameOf(Derivation derivation) {
  switch (derivation) {
    case Derivation::kDerived:
      return "derived";
    case Derivation::kForWeights:
      return "derived for weights";
    case Derivation::kNotDerived:
      return "not derived";
  }
  return "";
}

std::string PredecessorInstance::Both() const {
  return absl::StrCat("graph both {\n", operands, "\n", left, "\n", right, "\noutput ",
                      absl::StrJoin(left_outputs, ", "), ", ", absl::StrJoin(right_outputs, ", "),
                      "\n}\n");
}

std::string PredecessorInstance::Left() const {
  return absl::StrCat("graph left {\n", operands, "\n", left, "\noutput ",
                      absl::StrJoin(left_outputs, ", "), "\n}\n");
}

const std::vector<Predecessor>& Predecessors() {
  static const auto& all = *[] {
    auto* rules = new std::vector<Predecessor>;
    for (const char* family : {"matmul", "elementwise", "concat", "conv", "conv_merges"}) {
      Reader(absl::StrCat("tests/core/prove/predecessors/", family, ".txt"), rules).Read();
    }
    return rules;
  }();
  return all;
}

PredecessorInstance DrawInstance(const Predecessor& rule, Weights weights, Rng& rng) {
  Bindings bindings = rule.holds;
  bindings.insert(rule.texts.begin(), rule.texts.end());
  for (const auto& [name, range] : rule.sizes) {
    const auto choices = static_cast<uint64_t>(range.second - range.first + 1);
    bindings.emplace(name, absl::StrCat(range.first + static_cast<int>(rng.Below(choices))));
  }
  return InstanceOf(rule, bindings, weights);
}

PredecessorInstance Counterexample(const Predecessor& rule) {
  Bindings bindings = rule.fails;
  bindings.insert(rule.texts.begin(), rule.texts.end());
  for (const auto& [name, range] : rule.sizes) bindings.emplace(name, absl::StrCat(range.first));
  return InstanceOf(rule, bindings, Weights::kInputs);
}

}  // namespace quotient::prove
