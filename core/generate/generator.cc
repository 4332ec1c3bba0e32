#include "core/generate/generator.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/generate/derive.h"
#include "core/generate/enumerate.h"
#include "core/generate/rule_text.h"
#include "core/generate/taso.h"
#include "core/generate/terms.h"
#include "core/rules/rule_set.h"

namespace quotient::generate {
namespace {

// The last word on whether a rule is new has more time than the first.
constexpr DerivationLimits kThorough = {.iterations = 6, .enodes = 4000, .matches = 1000};

// What the operators multiply and add, and the elements that they write.
absl::StatusOr<double> WorkOf(const model::Graph& graph) {
  double work = 0;
  for (const model::Node& node : graph.nodes) {
    std::vector<const model::TensorType*> inputs;
    for (const model::ValueId input : node.inputs) {
      inputs.push_back(input.valid() ? &graph.value(input).type : nullptr);
    }
    const model::TensorType* const output = &graph.value(node.outputs[0]).type;
    work += static_cast<double>(
        eval::Operations(node.op, node.attributes, inputs, std::span(&output, 1)) +
        output->elements());
  }
  return work;
}

// Knows what TASO does, and how a Slice of a Concat and a Concat of Slices cancel.
absl::StatusOr<std::unique_ptr<Deriver>> TasoDeriver(const Terms* terms) {
  static constexpr absl::string_view kSplits[] = {"slice-concat", "concat-slices", "slice-whole",
                                                  "slice-slice"};
  std::vector<std::string> without = rules::RuleNames();
  std::erase_if(without, [](const std::string& name) {
    return name == "fold-constant" || std::ranges::find(kSplits, name) != std::end(kSplits);
  });
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Deriver> deriver,
                            Deriver::Create(terms, /*with_rules=*/true, without));
  QUOTIENT_RETURN_IF_ERROR(deriver->AddRules(TasoAxioms()));
  return deriver;
}

// The rule, with a number behind its name if that is among `names`, to which it is added.
// Consecutive rules of one name would be alternatives of one rule (core/rules/family.h).
std::string WithUniqueName(const std::string& rule, std::set<std::string>& names) {
  const size_t colon = rule.find(':');
  const std::string name = rule.substr(0, colon);
  std::string unique = name;
  for (int number = 2; !names.insert(unique).second; ++number) {
    unique = absl::StrCat(name, "-", number);
  }
  return unique + rule.substr(colon);
}

class Generator {
 public:
  Generator(const Universe& universe, const Options& options, std::vector<std::string>& known)
      : universe_(universe),
        options_(options),
        known_(known),
        terms_(&universe),
        enumeration_(&terms_, options.seed) {}

  absl::StatusOr<Outcome> Run() {
    QUOTIENT_ASSIGN_OR_RETURN(present_, Deriver::Create(&terms_, true, options_.without));
    QUOTIENT_ASSIGN_OR_RETURN(all_, Deriver::Create(&terms_, true, options_.without));
    QUOTIENT_ASSIGN_OR_RETURN(taso_, TasoDeriver(&terms_));
    QUOTIENT_RETURN_IF_ERROR(all_->AddRules(absl::StrJoin(known_, "\n")));
    for (int size = 1; size <= options_.size; ++size) {
      const std::vector<Equation> equations = EquationsOf(size);
      for (size_t i = 0; i < equations.size(); ++i) {
        Report(Progress::Phase::kProving, size, equations.size(), i);
        QUOTIENT_RETURN_IF_ERROR(Try(equations[i]));
      }
      Report(Progress::Phase::kProving, size, equations.size(), equations.size());
    }
    QUOTIENT_RETURN_IF_ERROR(DropDerived());
    outcome_.counts.terms = enumeration_.num_terms();
    outcome_.counts.values = enumeration_.num_values();
    return std::move(outcome_);
  }

 private:
  void Report(Progress::Phase phase, int size, size_t candidates = 0, size_t done = 0) const {
    if (!options_.progress) return;
    options_.progress({.phase = phase,
                       .size = size,
                       .graphs = enumeration_.num_terms(),
                       .candidates = static_cast<int64_t>(candidates),
                       .done = static_cast<int64_t>(done),
                       .found = static_cast<int64_t>(places_.size())});
  }

  // Enumerates the graphs of this size. Returns what is to be tried.
  std::vector<Equation> EquationsOf(int size) {
    const int64_t start = clock_.NowNs();
    const auto report = [this, size] { Report(Progress::Phase::kEnumerating, size); };
    std::vector<Equation> equations = Renamed(enumeration_.Grow(size < options_.size, report));
    report();
    outcome_.counts.seconds_enumerating += clock_.SecondsSince(start);
    return equations;
  }

  // Those that may be rules, once each. Small ones come first and of these the most general ones,
  // because others may follow from them.
  std::vector<Equation> Renamed(const std::vector<Enumeration::Pair>& pairs) {
    outcome_.counts.equations += static_cast<int64_t>(pairs.size());
    std::vector<Equation> equations;
    for (const auto& [left, right] : pairs) {
      if (terms_.term(left).is_weight && terms_.term(right).is_weight) continue;
      Equation equation = Canonical(terms_, left, right);
      if (!seen_.insert(equation.text).second) continue;
      const bool is_rule = RuleText(terms_, equation.left, equation.right, {}).has_value() ||
                           RuleText(terms_, equation.right, equation.left, {}).has_value();
      if (is_rule && FitsLarge(equation)) equations.push_back(std::move(equation));
    }
    outcome_.counts.renamed += static_cast<int64_t>(equations.size());
    const auto order = [this](const Equation& equation) {
      const auto variables = static_cast<int>(terms_.VariablesOf(equation.left).size());
      return std::tuple(terms_.Size(equation.left) + terms_.Size(equation.right), -variables,
                        equation.text.size(), equation.text);
    };
    std::ranges::sort(equations, {}, order);
    return equations;
  }

  // Some terms owe their types to the size of the small ones: 2 channels are broadcast to 2 images.
  bool FitsLarge(const Equation& equation) const {
    const TermId sides[] = {equation.left, equation.right};
    return terms_.ToGraph(sides, terms_.Large()).has_value();
  }

  absl::Status Try(const Equation& equation) {
    const int64_t start = clock_.NowNs();
    QUOTIENT_ASSIGN_OR_RETURN(const bool is_new, IsNew(equation));
    outcome_.counts.seconds_deriving += clock_.SecondsSince(start);
    if (!is_new) return absl::OkStatus();
    const int64_t begin = clock_.NowNs();
    const absl::Status status = TryToProve(equation);
    outcome_.counts.seconds_proving += clock_.SecondsSince(begin);
    return status;
  }

  absl::StatusOr<bool> IsNew(const Equation& equation) {
    // The second deriver knows all that the first one does.
    QUOTIENT_ASSIGN_OR_RETURN(const bool old, present_->Derives(equation.left, equation.right));
    if (old) return false;
    ++outcome_.counts.underived;
    for (const DerivationLimits& limits : {DerivationLimits(), kThorough}) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool follows,
                                all_->Derives(equation.left, equation.right, limits));
      if (follows) return false;
    }
    ++outcome_.counts.independent;
    return true;
  }

  absl::Status TryToProve(const Equation& equation) {
    QUOTIENT_ASSIGN_OR_RETURN(double before, Price(equation.left));
    QUOTIENT_ASSIGN_OR_RETURN(double after, Price(equation.right));
    TermId left = equation.left;
    TermId right = equation.right;
    if (before < after || !RuleText(terms_, left, right, {})) {
      if (RuleText(terms_, right, left, {})) {
        std::swap(left, right);
        std::swap(before, after);
      }
    }
    const ProofOptions options{options_.instances, options_.seed};
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Proof> proof,
                              Prove(terms_, left, right, options));
    if (!proof) {
      outcome_.refuted.push_back(equation.text);
      return absl::OkStatus();
    }
    ++outcome_.counts.proved;
    QUOTIENT_ASSIGN_OR_RETURN(const bool in_taso, taso_->Derives(left, right, kThorough));
    // The equation holds from right to left wherever it does from left to right.
    const std::optional<std::string> back = RuleText(terms_, right, left, proof->style);
    places_.push_back({left, right, all_->num_groups(), back ? "\n" + *back : ""});
    outcome_.found.push_back({universe_.name, *proof, before, after, in_taso});
    return all_->AddRules(proof->rule + places_.back().back);
  }

  // Drops rules that follow from those found after them.
  absl::Status DropDerived() {
    const int64_t start = clock_.NowNs();
    std::vector<Found> kept;
    std::set<std::string> names = NamesTaken();
    for (size_t i = 0; i < places_.size(); ++i) {
      Report(Progress::Phase::kDropping, options_.size, places_.size(), i);
      const Place& place = places_[i];
      all_->SetUsed(place.group, false);
      QUOTIENT_ASSIGN_OR_RETURN(const bool follows,
                                all_->Derives(place.left, place.right, kThorough));
      if (follows) continue;
      all_->SetUsed(place.group, true);
      kept.push_back(std::move(outcome_.found[i]));
      std::string& rule = kept.back().proof.rule;
      rule = WithUniqueName(rule, names);
      known_.push_back(rule + place.back);
    }
    Report(Progress::Phase::kDropping, options_.size, places_.size(), places_.size());
    outcome_.found = std::move(kept);
    outcome_.counts.kept = static_cast<int64_t>(outcome_.found.size());
    outcome_.counts.seconds_deriving += clock_.SecondsSince(start);
    return absl::OkStatus();
  }

  // Names of rules that are present, or were found before.
  std::set<std::string> NamesTaken() const {
    std::set<std::string> names;
    for (const std::string& name : rules::RuleNames()) {
      if (std::ranges::find(options_.without, name) == options_.without.end()) names.insert(name);
    }
    for (const std::string& rule : known_) names.insert(rule.substr(0, rule.find(':')));
    return names;
  }

  absl::StatusOr<double> Price(TermId id) {
    std::optional<model::Graph> graph = terms_.ToGraph(std::span(&id, 1), terms_.Large());
    QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(*graph));
    return options_.price ? options_.price(*graph) : WorkOf(*graph);
  }

  const Universe& universe_;
  const Options& options_;
  const Clock& clock_ = Clock::System();
  std::vector<std::string>& known_;
  Terms terms_;
  Enumeration enumeration_;
  std::unique_ptr<Deriver> present_;  // The present rules.
  std::unique_ptr<Deriver> all_;      // And those found.
  std::unique_ptr<Deriver> taso_;
  std::set<std::string> seen_;  // Equations.
  // What all_ knows of each found rule.
  struct Place {
    TermId left;
    TermId right;
    int group;
    std::string back;  // Behind a line end, the rule from right to left; empty if that is none.
  };
  std::vector<Place> places_;  // Parallel to outcome_.found.
  Outcome outcome_;
};

}  // namespace

const char* NameOf(Progress::Phase phase) {
  switch (phase) {
    case Progress::Phase::kEnumerating:
      return "enumerating";
    case Progress::Phase::kProving:
      return "proving";
    case Progress::Phase::kDropping:
      return "dropping what follows";
  }
  return "";
}

void Counts::Add(const Counts& other) {
  terms += other.terms;
  values += other.values;
  equations += other.equations;
  renamed += other.renamed;
  underived += other.underived;
  independent += other.independent;
  proved += other.proved;
  kept += other.kept;
  seconds_enumerating += other.seconds_enumerating;
  seconds_deriving += other.seconds_deriving;
  seconds_proving += other.seconds_proving;
}

absl::StatusOr<Outcome> Generate(const Universe& universe, const Options& options,
                                 std::vector<std::string>& known) {
  return Generator(universe, options, known).Run();
}

absl::StatusOr<Coverage> CoverageOfTaso(const Universe& universe,
                                        const std::vector<std::string>& known) {
  Terms terms(&universe);
  QUOTIENT_ASSIGN_OR_RETURN(const auto present, Deriver::Create(&terms, true, {}));
  QUOTIENT_ASSIGN_OR_RETURN(const auto all, Deriver::Create(&terms, true, {}));
  QUOTIENT_RETURN_IF_ERROR(all->AddRules(absl::StrJoin(known, "\n")));
  Coverage coverage;
  for (const TasoRule& rule : TasoRules(universe.name)) {
    QUOTIENT_ASSIGN_OR_RETURN(const TermId left, terms.Parse(rule.left));
    QUOTIENT_ASSIGN_OR_RETURN(const TermId right, terms.Parse(rule.right));
    ++coverage.num_rules;
    QUOTIENT_ASSIGN_OR_RETURN(const bool old, present->Derives(left, right, kThorough));
    QUOTIENT_ASSIGN_OR_RETURN(const bool follows, all->Derives(left, right, kThorough));
    coverage.num_present += old ? 1 : 0;
    if (!follows) coverage.missing.push_back(rule.name);
  }
  return coverage;
}

}  // namespace quotient::generate
