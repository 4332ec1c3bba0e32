// The questions are answered in this order; the first that fits is the answer:
//
//   1. the node: there is none, or it was removed before the search;
//   2. the rule: disabled;
//   3. the candidates: some use what the rule makes there. Then what is decided will be the answer;
//   4. the e-graph: it was applied there, but no candidate uses it; it matches, but was not
//   applied;
//   5. the pattern, in the original graph and in the e-graph: a guard refuses, or a part is
//   missing.

#include "core/optimize/inquiry.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/domain/selection.h"
#include "core/egraph/ranges.h"
#include "core/ops/op.h"
#include "core/optimize/asked_node.h"
#include "core/optimize/forced_cost.h"
#include "core/optimize/mismatch_text.h"
#include "core/optimize/rule_at_node.h"

namespace quotient::optimize {
namespace {

using egraph::ClassId;
using egraph::ENodeId;
using egraph::Match;
using egraph::Rule;

// So many e-nodes are named on each side where two graphs are compared.
constexpr size_t kMostKernels = 4;
// Of many matches at one node so many are tried.
constexpr size_t kMostTried = 8;
// An extraction for an answer takes some milliseconds for most models, and at most this long.
constexpr double kExtractSeconds = 2;

std::string Us(double us) { return absl::StrFormat("%.2f us", us); }

// The index of a rule; nullopt if it is not among them.
std::optional<size_t> IndexOf(std::span<const Rule* const> rules, absl::string_view name) {
  const auto found =
      std::ranges::find_if(rules, [&](const Rule* rule) { return rule->name() == name; });
  if (found == rules.end()) return std::nullopt;
  return static_cast<size_t>(found - rules.begin());
}

// Answers one question about a search that has ended.
class Inquiry {
 public:
  // Borrows all.
  Inquiry(const Job& job, const EndedSearch& search, const Beginning& beginning,
          const Question& question)
      : job_(job),
        search_(search),
        beginning_(beginning),
        question_(question),
        tensors_(search.grown.tensors()),
        graph_(*tensors_.egraph) {}

  Findings Run() && {
    Answer();
    return {std::move(answer_), std::move(places_), std::move(found_)};
  }

 private:
  void Answer() {
    const AskedNode asked = FindAskedNode(search_.prepared, question_.node);
    if (!asked.node.valid()) return Say(asked.was_removed ? "removed" : "no_node", asked.why);
    const std::optional<size_t> rule = IndexOf(beginning_.rules.rules(), question_.rule);
    if (!rule.has_value()) return Say("no_rule", "there is no such rule");
    FindClasses(asked.node);
    before_ = LookAround(*beginning_.rules.rules()[*rule], beginning_.tensors, classes_);
    const std::optional<size_t> used = IndexOf(search_.grown.rules(), question_.rule);
    if (!used.has_value()) return SayDisabled();
    rule_ = search_.grown.rules()[*used];
    origin_ = static_cast<egraph::Origin>(*used + 1);
    after_ = LookAround(*rule_, tensors_, classes_);
    NameRoots();
    for (size_t i = 0; i < search_.found.size(); ++i) {
      if (Uses(search_.found[i].journal, question_.rule, places_)) found_.insert(i);
    }
    if (!found_.empty()) return;  // What is decided will be the answer.
    std::vector<Match> matches = after_.matches;
    matches.insert(matches.end(), before_.matches.begin(), before_.matches.end());
    if (WasApplied(*rule_, origin_, graph_, matches, roots_)) return SayNotChosen();
    if (!after_.matches.empty()) return SayNotApplied();
    SayNoMatch();
  }

  void Say(absl::string_view answer, std::string text) {
    answer_.answer = std::string(answer);
    answer_.text = std::move(text);
  }
  void Add(std::string detail) { answer_.details.push_back(std::move(detail)); }
  void Add(const std::vector<std::string>& details) {
    answer_.details.insert(answer_.details.end(), details.begin(), details.end());
  }

  // The classes of the node's outputs. Both e-graphs begin alike, so they have the same ids.
  void FindClasses(model::NodeId id) {
    const model::Graph& original = tensors_.original;
    const model::Node& node = original.node(id);
    places_.insert(domain::SiteName(tensors_, id));
    for (const model::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      places_.insert(original.value(output).name);
      const ClassId cls = tensors_.class_of_value[output.value()];
      if (!cls.valid()) continue;
      classes_.push_back(cls);
      AddTwin(id, ENodeId(beginning_.tensors.egraph->nodes(cls).front()));
    }
    if (node.is_opaque()) {
      Add(absl::StrCat("the node, ", node.opaque->op,
                       ", is one that Quotient does not understand: no rule ",
                       "has it in a pattern"));
    }
  }

  // Equal nodes are one e-node from the beginning, which has the name of the first.
  void AddTwin(model::NodeId id, ENodeId enode) {
    const model::NodeId first = tensors_.Original(enode).node;
    if (!first.valid() || first == id) return;
    places_.insert(domain::SiteName(tensors_, first));
    Add(absl::StrCat("the node computes the same as '", domain::SiteName(tensors_, first),
                     "', and is one with it from the beginning"));
  }

  // Collects what the rule makes equal at the node: its classes, and the names of the original's
  // values in them.
  void NameRoots() {
    for (const RuleAtNode* const look : {&before_, &after_}) {
      roots_.insert(roots_.end(), look->roots.begin(), look->roots.end());
    }
    if (rule_->programs().empty()) roots_.insert(roots_.end(), classes_.begin(), classes_.end());
    for (uint32_t i = 0; i < tensors_.class_of_value.size(); ++i) {
      const ClassId cls = tensors_.class_of_value[i];
      if (!cls.valid() || !IsRoot(cls)) continue;
      const model::Value& value = tensors_.original.values[i];
      places_.insert(value.name);
      if (value.producer.valid()) places_.insert(domain::SiteName(tensors_, value.producer));
    }
  }

  bool IsRoot(ClassId id) const {
    return std::ranges::any_of(roots_,
                               [&](ClassId root) { return graph_.Find(root) == graph_.Find(id); });
  }

  void SayDisabled() {
    Say("disabled", "the rule is disabled (--disable-rule)");
    if (!before_.matches.empty()) {
      Add("it would match in the original graph");
    } else {
      Explain(before_, ENodeText(beginning_.tensors, beginning_.rules.rules()),
              "it would not match in the original graph: ");
    }
  }

  // --- 4. The e-graph

  StopCondition Soon() const {
    return job_.stop.WithoutDeadline().WithBudget(job_.environment.clock, kExtractSeconds);
  }

  // The best graph by all that is known of kernels.
  absl::StatusOr<extract::Selection> Best() const {
    pricing::ENodeCosts& costs = search_.grown.costs();
    costs.Refresh();
    const std::vector<ClassId> roots = tensors_.CanonicalRoots();
    return extract::FindExtractor("dag")->Extract({graph_, costs, roots}, Soon());
  }

  void AddKernels(absl::string_view which, const extract::Selection& selection,
                  const std::vector<ENodeId>& others) {
    const std::vector<ClassId> roots = tensors_.CanonicalRoots();
    const extract::Problem problem{graph_, search_.grown.costs(), roots};
    const ENodeText text(tensors_, search_.grown.rules());
    std::vector<std::string> kernels;
    const std::vector<PaidENode> paid = PaidBeside(problem, selection, others);
    for (size_t i = 0; i < std::min(paid.size(), kMostKernels); ++i) {
      kernels.push_back(absl::StrCat(text.Of(paid[i].node), " ", Us(paid[i].us)));
    }
    if (paid.size() > kMostKernels) {
      kernels.push_back(absl::StrCat(paid.size() - kMostKernels, " more"));
    }
    Add(absl::StrCat(which, ": ",
                     kernels.empty() ? "no other kernel" : absl::StrJoin(kernels, ", ")));
  }

  // Compares the best graph in which one of `ways` computes `cls` with the best one.
  void CompareCosts(const extract::Selection& best, ClassId cls, std::span<const ENodeId> ways) {
    const auto with = ExtractWith(search_.grown, cls, ways, Soon());
    if (!with.ok()) return Add("no graph with it can be run");
    answer_.with_us = with->cost;
    answer_.without_us = best.cost;
    Add(absl::StrCat("the best graph with it costs ", Us(with->cost), ", the best one ",
                     Us(best.cost), ", by the costs of e-nodes"));
    AddKernels("only with it", *with, ENodesOf(best));
    with_ = ENodesOf(*with);
  }

  // The e-nodes that the rule made in a class, from this id on.
  std::vector<ENodeId> MadeIn(ClassId cls, uint32_t from = 0) const {
    std::vector<ENodeId> made;
    for (const ENodeId node : graph_.nodes(graph_.Find(cls))) {
      if (graph_.origin(node) == origin_ && node.value() >= from) made.push_back(node);
    }
    return made;
  }

  void SayNotChosen() {
    Say("not_chosen", "it was applied, but no graph that was chosen from the e-graph uses it");
    search_.grown.costs().SetBasis(pricing::CostBasis::kKnown);
    const absl::StatusOr<extract::Selection> best = Best();
    if (!best.ok()) return;
    const ClassId cls = PlaceToCompare(*best);
    if (!cls.valid()) return Add("the best graph does without what it rewrites");
    const ENodeText text(tensors_, search_.grown.rules());
    Add(best->of(cls).valid()
            ? absl::StrCat("the best graph has ", text.Of(best->of(cls)), " for ", text.Name(cls))
            : absl::StrCat("the best graph does without ", text.Name(cls)));
    const std::vector<ENodeId> made = MadeIn(cls);
    if (made.empty()) {
      return Add("what the rule makes there was there already, so it has no kernels of its own");
    }
    CompareCosts(*best, cls, made);
    if (answer_.with_us.has_value()) AddKernels("only in the best graph", *best, with_);
  }

  // A class in which the rule made something, else one that the best graph computes, else none.
  ClassId PlaceToCompare(const extract::Selection& best) const {
    ClassId computed;
    for (const ClassId root : roots_) {
      const ClassId cls = graph_.Find(root);
      if (!MadeIn(cls).empty()) return cls;
      if (best.of(cls).valid()) computed = cls;
    }
    return computed;
  }

  std::string Ended() const {
    return absl::StrCat("the search ended by ", search_.figures.stop_reason, ", with ",
                        Counted(search_.figures.enodes, "e-node"), " (--max-nodes ",
                        job_.options.max_nodes, ")");
  }

  int64_t NumApplications() const {
    int64_t count = 0;
    graph_.proofs()->ForEachApplication(
        [&](const egraph::ProofLog::Application& by) { count += by.origin == origin_ ? 1 : 0; });
    return count + static_cast<int64_t>(graph_.proofs()->unions().size());
  }

  // Applies a match for a try. `look` may look at the graph with it. Returns whether the right side
  // could be built.
  template <typename Look>
  bool Try(const Match& match, const Look& look) {
    const int64_t applications = NumApplications();
    graph_.Mark();
    const auto applied = rule_->Apply(graph_, match, origin_);
    const bool is_built = applied.ok() && NumApplications() > applications && graph_.Rebuild().ok();
    if (is_built) look();
    graph_.Rollback();
    return is_built;
  }

  // A class in which an e-node that the rule has just made stands beside an older one.
  ClassId RewrittenSince(uint32_t nodes_before) const {
    for (uint32_t i = nodes_before; i < graph_.enode_bound(); ++i) {
      if (!graph_.live(ENodeId(i)) || graph_.origin(ENodeId(i)) != origin_) continue;
      const ClassId cls = graph_.class_of(ENodeId(i));
      for (const ENodeId node : graph_.nodes(cls)) {
        if (node.value() < nodes_before) return cls;
      }
    }
    return ClassId();
  }

  void SayNotApplied() {
    const auto tried = std::span(after_.matches).first(std::min(after_.matches.size(), kMostTried));
    search_.grown.costs().SetBasis(pricing::CostBasis::kKnown);
    const absl::StatusOr<extract::Selection> best = Best();
    for (const Match& match : tried) {
      const uint32_t nodes_before = graph_.enode_bound();
      const bool is_built = Try(match, [&] {
        Say("not_reached",
            absl::StrCat(
                "it matches, but the e-graph that the search ended with does not have it: ",
                Ended()));
        search_.grown.costs().Refresh();
        const ClassId cls = RewrittenSince(nodes_before);
        if (best.ok() && cls.valid()) CompareCosts(*best, cls, MadeIn(cls, nodes_before));
      });
      search_.grown.costs().Refresh();
      if (is_built) {
        if (best.ok() && answer_.with_us.has_value()) {
          AddKernels("only in the best graph", *best, with_);
        }
        return;
      }
    }
    Say("not_built",
        rule_->programs().empty()
            ? "it applies, but what it would make there cannot be built, or was there already"
            : "the pattern matches, but what the rule would make there cannot be built");
    SayOpset(tried);
  }

  // Whether it could be built if a newer opset were allowed.
  void SayOpset(std::span<const Match> tried) {
    domain::TensorDomain& domain = *tensors_.domain;
    for (const Match& match : tried) {
      const uint32_t nodes_before = graph_.enode_bound();
      domain.LimitOpset(std::numeric_limits<int>::max());
      const bool is_built = Try(match, [&] {
        domain.LimitOpset(search_.max_opset);
        for (uint32_t i = nodes_before; i < graph_.enode_bound(); ++i) {
          const domain::OpWord& word = domain.word(graph_.node(ENodeId(i)).op);
          if (word.def == nullptr || domain.Allows(*word.def)) continue;
          Say("needs_option", absl::StrCat("it makes ", word.name, ", which needs opset ",
                                           word.def->since_opset, "; the result may need opset ",
                                           search_.max_opset, " at most (--max-opset)"));
        }
      });
      domain.LimitOpset(search_.max_opset);
      if (is_built) return;
    }
  }

  // --- 5. The pattern

  void SayNoMatch() {
    if (!before_.matches.empty()) {
      Say("refused", "it matches in the original graph, but no more once other rules were applied");
      Explain(after_, ENodeText(tensors_, search_.grown.rules()), "");
      Add(Ended());
      return;
    }
    if (rule_->programs().empty()) return SayNoSite();
    const bool other_rules_helped =
        after_.nearest.has_value() &&
        (!before_.nearest.has_value() || egraph::IsNearer(*after_.nearest, *before_.nearest));
    const RuleAtNode& look = other_rules_helped ? after_ : before_;
    const bool is_guard = look.nearest.has_value() && !look.nearest->missing.has_value();
    const std::string where = other_rules_helped ? "even where other rules have rewritten, " : "";
    Say(is_guard ? "refused" : "no_match",
        absl::StrCat(where, is_guard ? "the pattern matches, but a guard refuses"
                                     : "the pattern does not match"));
    if (other_rules_helped) {
      Explain(look, ENodeText(tensors_, search_.grown.rules()), "");
    } else {
      Explain(look, ENodeText(beginning_.tensors, beginning_.rules.rules()), "");
    }
    if (is_guard) SayFinite();
  }

  // Whether guards would let it pass if float inputs were known to be finite.
  void SayFinite() {
    if (job_.options.assume_finite_inputs) return;
    const auto finite = Begin(job_, search_, /*assume_finite_inputs=*/true);
    if (!finite.ok()) return;
    const size_t index = *IndexOf((*finite)->rules.rules(), question_.rule);
    const Rule& rule = *(*finite)->rules.rules()[index];
    if (LookAround(rule, (*finite)->tensors, classes_).matches.empty()) return;
    Say("needs_option",
        "the pattern matches, but a guard refuses, as inputs may hold NaN or infinities "
        "(--assume-finite-inputs)");
  }

  void SayNoSite() {
    Say("no_match",
        "the rule applies nowhere around this node, neither in the original graph nor in the "
        "e-graph that the search ended with");
    Add("it is written by hand and has no pattern, so no part of it can be named that is missing");
    const egraph::Anchors* const anchors = rule_->anchors();
    if (anchors == nullptr || anchors->of_any_kind) return;
    std::vector<std::string> operators;
    for (const ops::OpDef* const def : ops::AllOps()) {
      const egraph::KindId kind = tensors_.domain->KindOfName(def->name);
      if (std::ranges::find(anchors->kinds, kind) != anchors->kinds.end()) {
        operators.emplace_back(def->name);
      }
    }
    Add(absl::StrCat(
        "it looks around ", absl::StrJoin(operators, ", "), ": ",
        beginning_.rules.rules()[*IndexOf(beginning_.rules.rules(), question_.rule)]->equation()));
  }

  // Adds what a pattern that does not match lacks. The first line begins with `opening`.
  void Explain(const RuleAtNode& look, const ENodeText& text, absl::string_view opening) {
    if (look.cut_short) Add("there was too much to look at, so a match may have been missed");
    if (!look.nearest.has_value()) {
      if (rule_programs().empty()) return;
      std::vector<std::string> lefts;
      for (const egraph::Program* const program : rule_programs())
        lefts.push_back(LeftText(*program));
      Add(absl::StrCat(opening, "expected one of the operators of ", absl::StrJoin(lefts, "  or  "),
                       ", but the node is ", NodeText(text)));
      return;
    }
    const egraph::NearMatch& near = *look.nearest;
    Add(absl::StrCat(opening, "the pattern is ", LeftText(*near.program)));
    Add(text.Found(near));
    if (near.missing.has_value()) Add(text.Missing(near));
    for (const egraph::RefusedGuard& refused : near.refused) Add(text.Refusal(near, refused));
  }

  std::vector<const egraph::Program*> rule_programs() const {
    const auto rules = beginning_.rules.rules();
    return rules[*IndexOf(rules, question_.rule)]->programs();
  }

  std::string NodeText(const ENodeText& text) const {
    if (classes_.empty()) return "read by nothing";
    return text.InDetail(beginning_.tensors.egraph->nodes(classes_.front()).front());
  }

  const Job& job_;
  const EndedSearch& search_;
  const Beginning& beginning_;
  const Question& question_;
  report::WhyNot answer_{.rule = question_.rule, .node = question_.node};
  const domain::TensorEGraph& tensors_;  // Of the e-graph that the search ended with.
  egraph::EGraph& graph_;

  std::vector<ClassId> classes_;  // Of the node's outputs, when both e-graphs began.
  RuleAtNode before_;             // In the original graph.
  RuleAtNode after_;              // In the e-graph that the search ended with.
  const Rule* rule_ = nullptr;
  egraph::Origin origin_ = 0;
  std::vector<ClassId> roots_;    // What the rule makes equal at the node.
  std::set<std::string> places_;  // Findings::places
  std::set<size_t> found_;        // Findings::found
  std::vector<ENodeId> with_;     // The e-nodes of the best graph with the rewrite.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Beginning>> Begin(const Job& job, const EndedSearch& search,
                                                 bool assume_finite_inputs) {
  auto made = std::make_unique<Beginning>();
  QUOTIENT_ASSIGN_OR_RETURN(
      made->tensors,
      domain::FromGraph(search.prepared.graph, search.prepared.measured, assume_finite_inputs));
  QUOTIENT_ASSIGN_OR_RETURN(made->rules, rules::BuildRules(made->tensors.domain.get(),
                                                           search.max_opset, {}, job.families));
  return made;
}

Findings Inquire(const Job& job, const EndedSearch& search, const Beginning& beginning,
                 const Question& question) {
  return Inquiry(job, search, beginning, question).Run();
}

bool Uses(const std::vector<report::JournalEntry>& journal, const std::string& rule,
          const std::set<std::string>& places) {
  return std::ranges::any_of(journal, [&](const report::JournalEntry& entry) {
    if (entry.rule != rule && std::ranges::find(entry.steps, rule) == entry.steps.end()) {
      return false;
    }
    return places.contains(entry.site) ||
           std::ranges::any_of(entry.values,
                               [&](const std::string& value) { return places.contains(value); });
  });
}

}  // namespace quotient::optimize
