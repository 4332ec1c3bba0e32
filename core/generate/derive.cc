#include "core/generate/derive.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/generate/words.h"
#include "core/rules/vocabulary.h"

namespace quotient::generate {
namespace {

using egraph::ClassId;

constexpr int kMaxOpset = 20;

constexpr char kCommutative[] = R"(
commutative-add: Add(?x, ?y) => Add(?y, ?x)
commutative-mul: Mul(?x, ?y) => Mul(?y, ?x)
commutative-max: Max(?x, ?y) => Max(?y, ?x)
commutative-min: Min(?x, ?y) => Min(?y, ?x)
)";

class Matches final : public egraph::MatchSink {
 public:
  explicit Matches(size_t most) : most_(most) {}
  bool Add(egraph::Match match) override {
    matches_.push_back(std::move(match));
    return matches_.size() < most_;
  }
  const std::vector<egraph::Match>& matches() const { return matches_; }

 private:
  const size_t most_;
  std::vector<egraph::Match> matches_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Deriver>> Deriver::Create(const Terms* terms, bool with_rules,
                                                         std::span<const std::string> without) {
  std::unique_ptr<Deriver> deriver(new Deriver(terms));
  if (with_rules) {
    // Folding computes numbers with rounding, which no equation of terms needs.
    std::vector<std::string> disabled(without.begin(), without.end());
    disabled.push_back("fold-constant");
    QUOTIENT_ASSIGN_OR_RETURN(deriver->present_,
                              rules::BuildRules(&deriver->domain_, kMaxOpset, disabled));
    for (const egraph::Rule* const rule : deriver->present_.rules()) {
      deriver->rules_.push_back({rule, -1});
    }
  }
  QUOTIENT_RETURN_IF_ERROR(deriver->AddRules(kCommutative));
  QUOTIENT_RETURN_IF_ERROR(deriver->AddVariables());
  return deriver;
}

absl::Status Deriver::AddRules(absl::string_view text) {
  rules::Words words(&domain_);
  rules::AddCommonWords(words);
  QUOTIENT_ASSIGN_OR_RETURN(rules::RuleList compiled,
                            egraph::CompileRules(text, words.vocabulary()));
  for (std::unique_ptr<egraph::Rule>& rule : compiled) {
    rules_.push_back({rule.get(), num_groups_});
    added_.push_back(std::move(rule));
  }
  ++num_groups_;
  return absl::OkStatus();
}

void Deriver::SetUsed(int group, bool is_used) {
  for (Known& known : rules_) {
    if (known.group == group) known.is_used = is_used;
  }
}

absl::Status Deriver::AddVariables() {
  const std::vector<Variable>& variables = terms_.universe().variables;
  const bool may_be_constants = terms_.universe().weights_are_constants;
  for (uint32_t i = 0; i < variables.size(); ++i) {
    const model::TensorType type = model::StaticType(model::DType::kFloat32, variables[i].dims);
    const egraph::OpId word = may_be_constants && variables[i].is_weight
                                  ? domain_.Constant(RandomWeights(type, static_cast<int>(i)))
                                  : domain_.Input(i, {type, type});
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId cls, graph_.Add(word, {}));
    variables_.push_back(cls);
  }
  return graph_.Rebuild();
}

absl::StatusOr<ClassId> Deriver::AddTerm(TermId id) {
  if (terms_.term(id).is_variable()) return variables_[id.value()];
  std::vector<ClassId> operands;
  for (const TermId operand : terms_.operands(id)) {
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId cls, AddTerm(operand));
    operands.push_back(cls);
  }
  const Operator& op = terms_.op(id);
  return domain_.Add(graph_, op.name, op.attributes, operands, egraph::kInputOrigin);
}

absl::StatusOr<bool> Deriver::Derives(TermId left, TermId right, const DerivationLimits& limits) {
  graph_.Mark();
  absl::StatusOr<bool> derived = false;
  const absl::StatusOr<ClassId> first = AddTerm(left);
  const absl::StatusOr<ClassId> second = first.ok() ? AddTerm(right) : first;
  derived = second.ok() ? Grow(*first, *second, limits) : absl::StatusOr<bool>(second.status());
  graph_.Rollback();
  return derived;
}

absl::StatusOr<bool> Deriver::Grow(ClassId left, ClassId right, const DerivationLimits& limits) {
  QUOTIENT_RETURN_IF_ERROR(graph_.Rebuild());
  for (int i = 0; i < limits.iterations; ++i) {
    if (graph_.Find(left) == graph_.Find(right)) return true;
    QUOTIENT_ASSIGN_OR_RETURN(const bool changed, ApplyAll(limits));
    if (!changed) break;
  }
  return graph_.Find(left) == graph_.Find(right);
}

// One iteration. Returns whether the e-graph changed. Where a rule of a text would unite classes of
// different types it does nothing.
absl::StatusOr<bool> Deriver::ApplyAll(const DerivationLimits& limits) {
  std::vector<Matches> found;
  for (const Known& known : rules_) {
    found.emplace_back(limits.matches);
    if (known.is_used) known.rule->Search(graph_, found.back());
  }
  bool changed = false;
  for (size_t i = 0; i < rules_.size(); ++i) {
    for (const egraph::Match& match : found[i].matches()) {
      if (graph_.num_enodes() > limits.enodes) break;
      const int64_t refused = domain_.refused_unions();
      const absl::StatusOr<bool> applied =
          rules_[i].rule->Apply(graph_, match, static_cast<egraph::Origin>(i + 1));
      if (!applied.ok() && domain_.refused_unions() == refused) return applied.status();
      changed |= applied.ok() && *applied;
    }
  }
  // Congruence may ask for a union that types refuse; the caller rolls back.
  if (!graph_.Rebuild().ok()) return false;
  return changed;
}

}  // namespace quotient::generate
