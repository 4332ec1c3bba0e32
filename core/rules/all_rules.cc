// The table of all families, and the code that turns their texts into rules.

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/rules/rule_set.h"

namespace quotient::rules {
namespace {

// A rule with one or more alternative left sides, each of which is compiled to a rule of its own,
// or a site rule. If the domain refuses a union because the types differ, the rule is wrong.
// This is counted (TensorDomain::refused_unions) and otherwise treated as if the rule had not
// fired.
class NamedRule final : public egraph::Rule {
 public:
  NamedRule(TensorDomain* domain, RuleList alternatives)
      : domain_(domain), alternatives_(std::move(alternatives)) {}

  const std::string& name() const override { return alternatives_[0]->name(); }
  const std::string& equation() const override { return alternatives_[0]->equation(); }

  std::string text() const override {
    std::string text;
    for (const auto& alternative : alternatives_) {
      if (alternative->program() == nullptr) return {};
      absl::StrAppend(&text, alternative->text(), "\n");
    }
    return text;
  }

  std::vector<const egraph::Program*> programs() const override {
    std::vector<const egraph::Program*> programs;
    for (const auto& alternative : alternatives_) {
      if (alternative->program() == nullptr) return {};
      programs.push_back(alternative->program());
    }
    return programs;
  }

  const egraph::Anchors* anchors() const override {
    return alternatives_.size() == 1 ? alternatives_[0]->anchors() : nullptr;
  }

  size_t NumWords(const egraph::Match& match) const override {
    return alternatives_[match.alternative]->NumWords(match);
  }

  void Search(const EGraph& graph, egraph::MatchSink& sink) const override {
    for (uint32_t i = 0; i < alternatives_.size(); ++i) {
      Tagging tagging(i, sink);
      alternatives_[i]->Search(graph, tagging);
      if (tagging.full()) return;
    }
  }

  void SearchAt(const EGraph& graph, std::span<const ENodeId> anchors,
                egraph::MatchSink& sink) const override {
    alternatives_[0]->SearchAt(graph, anchors, sink);
  }

  void SearchForClasses(const EGraph& graph, std::span<const ENodeId> anchors,
                        std::span<const ClassId> classes, egraph::MatchSink& sink) const override {
    alternatives_[0]->SearchForClasses(graph, anchors, classes, sink);
  }

  absl::StatusOr<bool> Apply(EGraph& graph, const egraph::Match& match,
                             egraph::Origin origin) const override {
    const uint32_t enodes = graph.enode_bound();
    const size_t unions = NumUnions(graph);
    const int64_t refused = domain_->refused_unions();
    absl::StatusOr<bool> changed = alternatives_[match.alternative]->Apply(graph, match, origin);
    if (graph.proofs() != nullptr &&
        (graph.enode_bound() != enodes || NumUnions(graph) != unions)) {
      graph.proofs()->AddChange(origin, match.alternative, match.classes, match.ops);
    }
    if (!changed.ok() && domain_->refused_unions() != refused) return false;
    return changed;
  }

 private:
  class Tagging final : public egraph::MatchSink {
   public:
    Tagging(uint32_t alternative, egraph::MatchSink& sink)
        : alternative_(alternative), sink_(sink) {}
    bool Add(egraph::Match match) override {
      match.alternative = alternative_;
      full_ = !sink_.Add(std::move(match));
      return !full_;
    }
    bool full() const { return full_; }

   private:
    const uint32_t alternative_;
    egraph::MatchSink& sink_;
    bool full_ = false;
  };

  static size_t NumUnions(const EGraph& graph) {
    return graph.proofs() == nullptr ? 0 : graph.proofs()->unions().size();
  }

  TensorDomain* const domain_;
  const RuleList alternatives_;
};

// Combines consecutive rules with the same name into one rule.
RuleList JoinByName(TensorDomain* domain, RuleList rules) {
  RuleList joined;
  for (size_t i = 0; i < rules.size();) {
    size_t end = i + 1;
    while (end < rules.size() && rules[end]->name() == rules[i]->name()) ++end;
    RuleList alternatives(std::make_move_iterator(rules.begin() + i),
                          std::make_move_iterator(rules.begin() + end));
    joined.push_back(std::make_unique<NamedRule>(domain, std::move(alternatives)));
    i = end;
  }
  return joined;
}

absl::StatusOr<RuleList> CompileFamily(TensorDomain* domain, const Family& family) {
  Words words(domain);
  AddCommonWords(words);
  if (family.add_words != nullptr) family.add_words(words);
  auto compiled =
      egraph::CompileRules(family.text, words.vocabulary(), absl::StrCat("family ", family.name));
  if (!compiled.ok()) return MakeError(Reason::kInternal, compiled.status().message());
  RuleList rules = *std::move(compiled);
  if (family.add_rules != nullptr) family.add_rules(domain, rules);
  return JoinByName(domain, std::move(rules));
}

using Names = absl::flat_hash_set<absl::string_view>;

// OPTION_INVALID if there are names that no rule has. The error has the first of them.
absl::Status CheckNone(const Names& unknown) {
  if (unknown.empty()) return absl::OkStatus();
  return MakeError(Reason::kOptionInvalid,
                   absl::StrCat("disabled_rules: no rule is called '",
                                *std::min_element(unknown.begin(), unknown.end()), "'"));
}

}  // namespace

std::span<const Family> AllFamilies() {
  static const auto& families = *new std::vector<Family>{
      FusionFamily(),         TransformerFamily(),    AttentionFamily(),   AttentionPartsFamily(),
      AttentionFormsFamily(), RotaryFamily(),         AlgebraFamily(),     LayoutFamily(),
      MatmulFamily(),         ConvFamily(),           GroupedConvFamily(), ConvFormsFamily(),
      PoolFamily(),           ReductionFamily(),      ConcatSplitFamily(), QuantizedFamily(),
      PickFamily(),           ShapeFamily(),          PartsFamily(),       LinearMapsFamily(),
      EinsumFamily(),         ChannelPaddingFamily(),
  };
  return families;
}

absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain, std::span<const Family> families,
                                      std::span<const std::string> disabled) {
  const Names left_out(disabled.begin(), disabled.end());
  Names unknown = left_out;
  RuleSet set;
  for (const Family& family : families) {
    QUOTIENT_ASSIGN_OR_RETURN(RuleList rules, CompileFamily(domain, family));
    for (std::unique_ptr<egraph::Rule>& rule : rules) {
      unknown.erase(rule->name());
      if (left_out.contains(rule->name())) continue;
      set.pointers_.push_back(rule.get());
      set.owned_.push_back(std::move(rule));
    }
  }
  QUOTIENT_RETURN_IF_ERROR(CheckNone(unknown));
  return set;
}

absl::StatusOr<RuleSet> BuildRules(TensorDomain* domain, int max_opset,
                                   std::span<const std::string> disabled,
                                   std::span<const Family> families) {
  domain->LimitOpset(max_opset);
  return BuildFamilies(domain, families, disabled);
}

std::vector<std::string> RuleNames(std::span<const Family> families) {
  TensorDomain domain;
  std::vector<std::string> names;
  const absl::StatusOr<RuleSet> set = BuildFamilies(&domain, families, {});
  if (!set.ok()) return names;
  for (const egraph::Rule* rule : set->rules()) names.push_back(rule->name());
  return names;
}

const std::vector<std::string>& AllRuleNames() {
  static const auto& names = *new std::vector<std::string>(RuleNames());
  return names;
}

absl::Status CheckDisabled(std::span<const std::string> disabled) {
  Names unknown(disabled.begin(), disabled.end());
  if (unknown.empty()) return absl::OkStatus();
  for (const std::string& name : AllRuleNames()) unknown.erase(name);
  return CheckNone(unknown);
}

}  // namespace quotient::rules
