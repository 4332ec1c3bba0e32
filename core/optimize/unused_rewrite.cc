#include "core/optimize/unused_rewrite.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/egraph/ranges.h"
#include "core/extract/fusions.h"
#include "core/optimize/forced_cost.h"
#include "core/optimize/listing.h"
#include "core/optimize/mismatch_text.h"
#include "core/optimize/on_trial.h"

namespace quotient::optimize {
namespace {

using egraph::ClassId;
using egraph::ENodeId;
using egraph::Match;

// At most this many of the matches at one node are tried.
constexpr size_t kMostTried = 8;

std::string Us(double us) { return absl::StrFormat("%.2f us", us); }

// Lets a domain make operators of every opset, until the end of its life.
class AnyOpset {
 public:
  AnyOpset(domain::TensorDomain& domain, int max_opset) : domain_(domain), max_opset_(max_opset) {
    domain_.LimitOpset(std::numeric_limits<int>::max());
  }
  ~AnyOpset() { domain_.LimitOpset(max_opset_); }
  AnyOpset(const AnyOpset&) = delete;
  AnyOpset& operator=(const AnyOpset&) = delete;

 private:
  domain::TensorDomain& domain_;
  const int max_opset_;
};

// Explains why one rewrite is not used.
class Explanation {
 public:
  // Borrows all.
  Explanation(const EndedSearch& search, const UnusedRewrite& rewrite, const StopCondition& stop,
              Answer& answer)
      : search_(search),
        rewrite_(rewrite),
        stop_(stop),
        answer_(answer),
        tensors_(search.grown.tensors()),
        graph_(*tensors_.egraph) {}

  void NotChosen() {
    answer_.Say("not_chosen",
                "it was applied, but no graph that was chosen from the e-graph uses it");
    search_.grown.costs().SetBasis(pricing::CostBasis::kKnown);
    const absl::StatusOr<Graph> best = Best();
    if (stop_.ShouldStop()) return SayNoTimeToCompare();
    if (!best.ok()) return;
    const ClassId cls = PlaceToCompare(best->selection);
    if (!cls.valid()) return answer_.Add("the best graph does without what it rewrites");
    const ENodeText text(tensors_, search_.grown.rules());
    answer_.Add(best->selection.of(cls).valid()
                    ? absl::StrCat("the best graph has ", text.Of(best->selection.of(cls)), " for ",
                                   text.Name(cls))
                    : absl::StrCat("the best graph does without ", text.Name(cls)));
    const std::vector<ENodeId> made = MadeIn(cls);
    if (made.empty()) {
      return answer_.Add(
          "what the rule makes there was there already, so it has no kernels of its own");
    }
    const auto with = CompareCosts(*best, cls, made);
    if (with.has_value()) AddKernels("only in the best graph", best->selection, *with);
  }

  // `how_it_ended`: why the search did not get to it.
  void NotApplied(const std::string& how_it_ended) {
    const auto tried = rewrite_.matches.first(std::min(rewrite_.matches.size(), kMostTried));
    search_.grown.costs().SetBasis(pricing::CostBasis::kKnown);
    const absl::StatusOr<Graph> best = Best();
    for (const Match& match : tried) {
      if (stop_.ShouldStop()) return answer_.SayNoTime();
      const uint32_t nodes_before = graph_.enode_bound();
      std::optional<std::vector<ENodeId>> with;
      const bool is_built = Try(match, [&] {
        answer_.Say("not_reached",
                    absl::StrCat(
                        "it matches, but the e-graph that the search ended with does not have it: ",
                        how_it_ended));
        search_.grown.costs().Refresh();
        const ClassId cls = RewrittenSince(nodes_before);
        if (best.ok() && cls.valid()) with = CompareCosts(*best, cls, MadeIn(cls, nodes_before));
      });
      search_.grown.costs().Refresh();
      if (with.has_value()) AddKernels("only in the best graph", best->selection, *with);
      if (is_built) return;
    }
    answer_.Say(
        "not_built",
        rewrite_.rule.programs().empty()
            ? "it applies, but what it would make there cannot be built, or was there already"
            : "the pattern matches, but what the rule would make there cannot be built");
    SayOpset(tried);
  }

 private:
  void SayNoTimeToCompare() { answer_.Add("there was no time to compare the costs"); }

  // A graph that was chosen, and what it costs without the surcharge on rewrites. It is known for
  // the e-graph as it was then, which has other classes while a rewrite is on trial.
  struct Graph {
    extract::Selection selection;
    double us = 0;
  };

  // The best graph by all that is known of kernels.
  absl::StatusOr<Graph> Best() const {
    search_.grown.costs().Refresh();
    QUOTIENT_ASSIGN_OR_RETURN(extract::Selection best, extract::FindExtractor("dag")->Extract(
                                                           search_.grown.problem(), stop_));
    const double us = CostOf(best);
    return Graph{std::move(best), us};
  }

  // Without the surcharge on rewrites.
  double CostOf(const extract::Selection& selection) const {
    const std::vector<ClassId> roots = tensors_.CanonicalRoots();
    return extract::SelectionCost({graph_, search_.grown.costs(), roots}, selection);
  }

  // Adds a line that names the e-nodes that `selection` pays for beside the `others`. The line
  // begins with `which`.
  void AddKernels(absl::string_view which, const extract::Selection& selection,
                  const std::vector<ENodeId>& others) {
    const std::vector<ClassId> roots = tensors_.CanonicalRoots();
    const extract::Problem problem{graph_, search_.grown.costs(), roots};
    const ENodeText text(tensors_, search_.grown.rules());
    Listing kernels;
    for (const PaidENode& paid : PaidBeside(problem, selection, others)) {
      kernels.Add([&] { return absl::StrCat(text.Of(paid.node), " ", Us(paid.us)); });
    }
    answer_.Add(absl::StrCat(which, ": ", kernels.Text("no other kernel")));
  }

  // Compares the best graph in which one of `ways` computes `cls` with the best one. Returns the
  // e-nodes of the former, or nullopt if there is no such graph or no time to find it.
  std::optional<std::vector<ENodeId>> CompareCosts(const Graph& best, ClassId cls,
                                                   std::span<const ENodeId> ways) {
    const auto with = ExtractWith(search_.grown, cls, ways, stop_);
    // What was found by then need not be the best.
    if (stop_.ShouldStop()) {
      SayNoTimeToCompare();
      return std::nullopt;
    }
    if (!with.ok()) {
      answer_.Add("no graph with it can be run");
      return std::nullopt;
    }
    const double with_us = CostOf(*with);
    answer_.SetCosts(with_us, best.us);
    answer_.Add(absl::StrCat("the best graph with it costs ", Us(with_us), ", the best one ",
                             Us(best.us), ", by the costs of e-nodes"));
    if (with_us < best.us && with->cost > best.selection.cost) {
      const double percent = 100 * search_.grown.surcharge();
      answer_.Add(absl::StrFormat(
          "so small a gain may be chance: a kernel that the original does not have must be %g to "
          "%g %% cheaper than what it replaces",
          RewriteSurcharge::kLeast * percent, RewriteSurcharge::kMost * percent));
    }
    AddKernels("only with it", *with, ENodesOf(best.selection));
    return ENodesOf(*with);
  }

  // The e-nodes of a class that the rule made and whose ids are `from` or larger.
  std::vector<ENodeId> MadeIn(ClassId cls, uint32_t from = 0) const {
    std::vector<ENodeId> made;
    for (const ENodeId node : graph_.nodes(graph_.Find(cls))) {
      if (graph_.origin(node) == rewrite_.origin && node.value() >= from) made.push_back(node);
    }
    return made;
  }

  // A class in which the rule made something, else one that the best graph computes, else none.
  ClassId PlaceToCompare(const extract::Selection& best) const {
    ClassId computed;
    for (const ClassId root : rewrite_.roots) {
      const ClassId cls = graph_.Find(root);
      if (!MadeIn(cls).empty()) return cls;
      if (best.of(cls).valid()) computed = cls;
    }
    return computed;
  }

  // A number that grows whenever applying the rule changes something.
  int64_t NumApplications() const {
    int64_t count = 0;
    graph_.proofs()->ForEachApplication([&](const egraph::ProofLog::Application& by) {
      count += by.origin == rewrite_.origin ? 1 : 0;
    });
    return count + static_cast<int64_t>(graph_.proofs()->unions().size());
  }

  // Applies a match on trial and undoes that again. If the right side could be built, `look` is
  // called while the e-graph has it. Returns whether it could be built.
  template <typename Look>
  bool Try(const Match& match, const Look& look) {
    const int64_t applications = NumApplications();
    bool is_built = false;
    OnTrial(graph_, [&] {
      const auto applied = rewrite_.rule.Apply(graph_, match, rewrite_.origin);
      is_built = applied.ok() && NumApplications() > applications && graph_.Rebuild().ok();
      if (is_built) look();
    });
    return is_built;
  }

  // A class in which an e-node that the rule has just made stands beside an older one.
  ClassId RewrittenSince(uint32_t nodes_before) const {
    for (uint32_t i = nodes_before; i < graph_.enode_bound(); ++i) {
      if (!graph_.live(ENodeId(i)) || graph_.origin(ENodeId(i)) != rewrite_.origin) continue;
      const ClassId cls = graph_.class_of(ENodeId(i));
      for (const ENodeId node : graph_.nodes(cls)) {
        if (node.value() < nodes_before) return cls;
      }
    }
    return ClassId();
  }

  // Says which option is missing, if the right side of a match could be built with a newer opset.
  void SayOpset(std::span<const Match> tried) {
    for (const Match& match : tried) {
      if (stop_.ShouldStop()) return;
      const uint32_t nodes_before = graph_.enode_bound();
      std::set<std::string> newer;  // The operators that it makes, with their opsets.
      bool is_built = false;
      {
        const AnyOpset any(*tensors_.domain, search_.max_opset);
        is_built = Try(match, [&] { newer = NewerSince(nodes_before); });
      }
      if (!newer.empty()) {
        answer_.Say("needs_option", absl::StrCat("it makes ", absl::StrJoin(newer, " and "),
                                                 "; the result may need opset ", search_.max_opset,
                                                 " at most (--max-opset)"));
      }
      if (is_built) return;
    }
  }

  // "HardSwish, which needs opset 14": the operators of new e-nodes that the result may not have.
  std::set<std::string> NewerSince(uint32_t nodes_before) const {
    std::set<std::string> newer;
    for (uint32_t i = nodes_before; i < graph_.enode_bound(); ++i) {
      const domain::OpWord& word = tensors_.domain->word(graph_.node(ENodeId(i)).op);
      if (word.def == nullptr || word.def->since_opset <= search_.max_opset) continue;
      newer.insert(absl::StrCat(word.name, ", which needs opset ", word.def->since_opset));
    }
    return newer;
  }

  const EndedSearch& search_;
  const UnusedRewrite& rewrite_;
  const StopCondition& stop_;
  Answer& answer_;
  const domain::TensorEGraph& tensors_;
  egraph::EGraph& graph_;
};

}  // namespace

void ExplainNotChosen(const EndedSearch& search, const UnusedRewrite& rewrite,
                      const StopCondition& stop, Answer* answer) {
  Explanation(search, rewrite, stop, *answer).NotChosen();
}

void ExplainNotApplied(const Job& job, const EndedSearch& search, const UnusedRewrite& rewrite,
                       const StopCondition& stop, Answer* answer) {
  Explanation(search, rewrite, stop, *answer).NotApplied(HowItEnded(job, search));
}

}  // namespace quotient::optimize
