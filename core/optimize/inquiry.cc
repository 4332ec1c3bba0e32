// The questions are answered in this order; the first that fits is the answer:
//
//   1. the node: there is none, or it was removed before the search;
//   2. the rule: there is none, or it is disabled;
//   3. the candidates: some use what the rule makes there. Then what is decided will be the answer;
//   4. the e-graph: the rule was applied there, but no candidate uses it; or it matches, but was
//      not applied (`unused_rewrite` says why);
//   5. the pattern, in the original graph and in the e-graph: a guard refuses, or a part is
//      missing.
//
// Where time is up before it is known which fits, the answer is that.

#include "core/optimize/inquiry.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/domain/selection.h"
#include "core/egraph/ranges.h"
#include "core/ops/op.h"
#include "core/optimize/answer.h"
#include "core/optimize/asked_node.h"
#include "core/optimize/class_set.h"
#include "core/optimize/mismatch_text.h"
#include "core/optimize/rule_at_node.h"
#include "core/optimize/unused_rewrite.h"

namespace quotient::optimize {
namespace {

using egraph::ClassId;
using egraph::ENodeId;
using egraph::Match;
using egraph::Rule;

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
          const Question& question, const StopCondition& stop)
      : job_(job),
        search_(search),
        beginning_(beginning),
        question_(question),
        stop_(stop),
        tensors_(search.grown.tensors()),
        graph_(*tensors_.egraph) {}

  Findings Run() && {
    AskInOrder();
    return {std::move(answer_).Take(), std::move(places_), std::move(found_)};
  }

 private:
  void AskInOrder() {
    const AskedNode asked = FindAskedNode(search_.prepared, question_.node, stop_);
    if (!asked.node.valid()) {
      return answer_.Say(asked.was_removed ? "removed" : "no_node", asked.why);
    }
    const std::optional<size_t> rule = IndexOf(beginning_.rules.rules(), question_.rule);
    if (!rule.has_value()) return answer_.Say("no_rule", "the job has no such rule");
    asked_rule_ = beginning_.rules.rules()[*rule];
    FindClasses(asked.node);
    before_ = LookAround(*asked_rule_, beginning_.tensors, classes_, stop_);
    if (stop_.ShouldStop()) return answer_.SayNoTime();
    const std::optional<size_t> used = IndexOf(search_.grown.rules(), question_.rule);
    if (!used.has_value()) return SayDisabled();
    rule_ = search_.grown.rules()[*used];
    const auto origin = static_cast<egraph::Origin>(*used + 1);
    after_ = LookAround(*rule_, tensors_, classes_, stop_);
    if (stop_.ShouldStop()) return answer_.SayNoTime();
    NameRoots(origin);
    for (size_t i = 0; i < search_.found.size(); ++i) {
      if (Uses(search_.found[i].journal, question_.rule, places_)) found_.insert(i);
    }
    if (!found_.empty()) return;  // What is decided will be the answer.
    std::vector<Match> matches = after_.matches;
    matches.insert(matches.end(), before_.matches.begin(), before_.matches.end());
    const UnusedRewrite rewrite{*rule_, origin, roots_, after_.matches};
    if (WasApplied(*rule_, origin, graph_, matches, roots_, stop_)) {
      return ExplainNotChosen(search_, rewrite, stop_, &answer_);
    }
    if (stop_.ShouldStop()) return answer_.SayNoTime();
    if (!after_.matches.empty()) return ExplainNotApplied(job_, search_, rewrite, stop_, &answer_);
    SayNoMatch();
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
      answer_.Add(absl::StrCat("the node, ", node.opaque->op,
                               ", is one that Quotient does not understand: no rule ",
                               "has it in a pattern"));
    }
  }

  // Equal nodes are one e-node from the beginning, which has the name of the first.
  void AddTwin(model::NodeId id, ENodeId enode) {
    const model::NodeId first = tensors_.Original(enode).node;
    if (!first.valid() || first == id) return;
    places_.insert(domain::SiteName(tensors_, first));
    answer_.Add(absl::StrCat("the node computes the same as '", domain::SiteName(tensors_, first),
                             "', and is one with it from the beginning"));
  }

  // Collects what the rule makes equal at the node: its classes, and the names of the original's
  // values in them, and in the classes that it made on the way there.
  void NameRoots(egraph::Origin origin) {
    for (const RuleAtNode* const look : {&before_, &after_}) {
      roots_.insert(roots_.end(), look->roots.begin(), look->roots.end());
    }
    if (rule_->programs().empty()) roots_.insert(roots_.end(), classes_.begin(), classes_.end());
    const ClassSet named(graph_, WithWhatItMade(origin));
    for (uint32_t i = 0; i < tensors_.class_of_value.size(); ++i) {
      const ClassId cls = tensors_.class_of_value[i];
      if (!cls.valid() || !named.contains(cls)) continue;
      const model::Value& value = tensors_.original.values[i];
      places_.insert(value.name);
      if (value.producer.valid()) places_.insert(domain::SiteName(tensors_, value.producer));
    }
  }

  // The roots, and the classes that were made for e-nodes of this origin in them. Where siblings
  // were merged, the whole is one of these, and may have become equal to a value of the original.
  // Operands of these e-nodes that were there before are none, though the rule may have rewritten
  // them as well.
  std::vector<ClassId> WithWhatItMade(egraph::Origin origin) const {
    std::vector<std::span<const ClassId>> children;  // By ENodeId, as they were added.
    graph_.proofs()->ForEachBirth(graph_.store().rows().span(),
                                  [&](egraph::OpId, auto of_one) { children.push_back(of_one); });
    const auto is_made = [&](ENodeId enode) { return graph_.origin(enode) == origin; };
    std::vector<ENodeId> made;
    for (const ClassId root : roots_) {
      std::ranges::copy_if(graph_.nodes(graph_.Find(root)), std::back_inserter(made), is_made);
    }
    std::vector<ClassId> classes = roots_;
    absl::flat_hash_set<ClassId> seen;
    for (size_t i = 0; i < made.size(); ++i) {
      for (const ClassId child : children[made[i].value()]) {
        // A class has the number of the e-node that it was made with.
        const ENodeId enode(child.value());
        if (!is_made(enode) || !seen.insert(child).second) continue;
        classes.push_back(child);
        made.push_back(enode);
      }
    }
    return classes;
  }

  void SayDisabled() {
    answer_.Say("disabled", "the rule is disabled (--disable-rule)");
    if (!before_.matches.empty()) {
      answer_.Add("it would match in the original graph");
    } else {
      Explain(before_, ENodeText(beginning_.tensors, beginning_.rules.rules()),
              "it would not match in the original graph: ");
    }
  }

  // --- 5. The pattern

  void SayNoMatch() {
    if (!before_.matches.empty()) {
      answer_.Say(IsRefused(after_) ? "refused" : "no_match",
                  "it matches in the original graph, but no more once other rules were applied");
      Explain(after_, ENodeText(tensors_, search_.grown.rules()), "");
      answer_.Add(HowItEnded(job_, search_));
      return;
    }
    if (rule_->programs().empty()) return SayNoSite();
    const bool other_rules_helped =
        after_.nearest.has_value() &&
        (!before_.nearest.has_value() || egraph::IsNearer(*after_.nearest, *before_.nearest));
    const RuleAtNode& look = other_rules_helped ? after_ : before_;
    const bool is_guard = IsRefused(look);
    const std::string where = other_rules_helped ? "even where other rules have rewritten, " : "";
    answer_.Say(is_guard ? "refused" : "no_match",
                absl::StrCat(where, is_guard ? "the pattern matches, but a guard refuses"
                                             : "the pattern does not match"));
    if (other_rules_helped) {
      Explain(look, ENodeText(tensors_, search_.grown.rules()), "");
    } else {
      Explain(look, ENodeText(beginning_.tensors, beginning_.rules.rules()), "");
    }
    if (is_guard) SayFinite();
  }

  // Whether the whole pattern was found and only guards refuse.
  static bool IsRefused(const RuleAtNode& look) {
    return look.nearest.has_value() && !look.nearest->missing.has_value();
  }

  // Says whether guards would let it pass if float inputs were known to be finite.
  void SayFinite() {
    if (job_.options.assume_finite_inputs) return;
    if (WouldPassIfFinite()) {
      answer_.Say("needs_option",
                  "the pattern matches, but a guard refuses, as inputs may hold NaN or infinities "
                  "(--assume-finite-inputs)");
    } else if (stop_.ShouldStop()) {
      answer_.Add("there was no time to try whether --assume-finite-inputs would help");
    }
  }

  bool WouldPassIfFinite() const {
    if (stop_.ShouldStop()) return false;
    const auto finite = Begin(job_, search_, /*assume_finite_inputs=*/true);
    if (!finite.ok()) return false;
    const auto rules = (*finite)->rules.rules();
    const std::optional<size_t> index = IndexOf(rules, question_.rule);
    return index.has_value() &&
           !LookAround(*rules[*index], (*finite)->tensors, classes_, stop_).matches.empty();
  }

  void SayNoSite() {
    answer_.Say(
        "no_match",
        "the rule applies nowhere around this node, neither in the original graph nor in the "
        "e-graph that the search ended with");
    answer_.Add(
        "it is a site rule and has no pattern, so no part of it can be named that is missing");
    WarnIfCutShort(after_);
    const egraph::Anchors* const anchors = rule_->anchors();
    if (anchors == nullptr || anchors->of_any_kind) return;
    std::vector<std::string> operators;
    for (const ops::OpDef* const def : ops::AllOps()) {
      const egraph::KindId kind = tensors_.domain->KindOfName(def->name);
      if (std::ranges::find(anchors->kinds, kind) != anchors->kinds.end()) {
        operators.emplace_back(def->name);
      }
    }
    answer_.Add(absl::StrCat("it looks around ", absl::StrJoin(operators, ", "), ": ",
                             asked_rule_->equation()));
  }

  // Adds what a pattern that does not match lacks. The first line begins with `opening`.
  void Explain(const RuleAtNode& look, const ENodeText& text, absl::string_view opening) {
    WarnIfCutShort(look);
    if (!look.nearest.has_value()) {
      const std::vector<const egraph::Program*> programs = asked_rule_->programs();
      if (programs.empty()) return;
      std::vector<std::string> lefts;
      for (const egraph::Program* const program : programs) lefts.push_back(LeftText(*program));
      answer_.Add(absl::StrCat(opening, "expected one of the operators of ",
                               absl::StrJoin(lefts, "  or  "), ", but the node is ",
                               NodeText(text)));
      return;
    }
    const egraph::NearMatch& near = *look.nearest;
    answer_.Add(absl::StrCat(opening, "the pattern is ", LeftText(*near.program)));
    answer_.Add(text.Found(near));
    if (near.missing.has_value()) answer_.Add(text.Missing(near));
    for (const egraph::RefusedGuard& refused : near.refused)
      answer_.Add(text.Refusal(near, refused));
  }

  void WarnIfCutShort(const RuleAtNode& look) {
    if (!look.cut_short) return;
    answer_.Add("there was too much to look at, so a match may have been missed");
  }

  std::string NodeText(const ENodeText& text) const {
    if (classes_.empty()) return "read by nothing";
    return text.InDetail(beginning_.tensors.egraph->nodes(classes_.front()).front());
  }

  const Job& job_;
  const EndedSearch& search_;
  const Beginning& beginning_;
  const Question& question_;
  const StopCondition& stop_;
  Answer answer_{question_};
  const domain::TensorEGraph& tensors_;  // Of the e-graph that the search ended with.
  const egraph::EGraph& graph_;

  std::vector<ClassId> classes_;      // Of the node's outputs, when both e-graphs began.
  RuleAtNode before_;                 // In the original graph.
  RuleAtNode after_;                  // In the e-graph that the search ended with.
  const Rule* asked_rule_ = nullptr;  // Of the beginning: there also if it is disabled.
  const Rule* rule_ = nullptr;        // Of the search.
  std::vector<ClassId> roots_;        // What the rule makes equal at the node.
  std::set<std::string> places_;      // Findings::places
  std::set<size_t> found_;            // Findings::found
};

}  // namespace

Findings Inquire(const Job& job, const EndedSearch& search, const Beginning& beginning,
                 const Question& question, const StopCondition& stop) {
  return Inquiry(job, search, beginning, question, stop).Run();
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
