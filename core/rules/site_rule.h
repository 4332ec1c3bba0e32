#pragma once

// SiteRule: a rule that no pattern expresses, given by two functions. One searches around e-nodes
// for sites, places where the rule applies, and reports which classes take part. The other builds
// the right sides from this report alone.

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/egraph/rule.h"
#include "core/rules/terms.h"

namespace quotient::rules {

// Two classes that a rule makes equal.
struct Equation {
  ClassId left;
  ClassId right;
};

// A site that the search of a rule found. Only the rule itself interprets the classes, operator
// words and numbers (not negative, below 2^32). When the rule is applied, classes may have been
// merged with others; the rest is unchanged.
struct SiteMatch {
  std::vector<ClassId> classes;
  std::vector<OpId> ops;
  std::vector<int64_t> numbers;
};

using EmitFn = std::function<bool(SiteMatch)>;

class SiteRule final : public egraph::Rule {
 public:
  // Reports what is around these e-nodes until emit() returns false: see Rule::SearchAt. At least
  // one e-node is given.
  using SearchFn = std::function<void(const View&, std::span<const ENodeId>, const EmitFn& emit)>;
  // Reports all matches around these e-nodes with these classes: see Rule::SearchForClasses.
  // Returns false if a limit of its own has ended the search, so that some may be missing.
  using ForClassesFn = std::function<bool(const View&, std::span<const ENodeId>,
                                          std::span<const ClassId>, const EmitFn& emit)>;
  // Builds the right sides. Equations with an invalid side are ignored.
  using BuildFn = std::function<std::vector<Equation>(Terms&, const SiteMatch&)>;

  // `anchors`: the operators whose e-nodes the rule is searched around, or none for all of them.
  // `for_classes` may be null if the search does not choose among matches.
  SiteRule(TensorDomain* domain, std::string name, std::string equation,
           std::span<const absl::string_view> anchors, SearchFn search, BuildFn build,
           ForClassesFn for_classes = nullptr);

  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return equation_; }
  const egraph::Anchors* anchors() const override { return &anchors_; }
  size_t NumWords(const egraph::Match& match) const override;
  void Search(const EGraph& graph, egraph::MatchSink& sink) const override;
  void SearchAt(const EGraph& graph, std::span<const ENodeId> anchors,
                egraph::MatchSink& sink) const override;
  void SearchForClasses(const EGraph& graph, std::span<const ENodeId> anchors,
                        std::span<const ClassId> classes, egraph::MatchSink& sink) const override;
  absl::StatusOr<bool> Apply(EGraph& graph, const egraph::Match& match,
                             egraph::Origin origin) const override;

 private:
  TensorDomain* const domain_;
  const std::string name_;
  const std::string equation_;
  egraph::Anchors anchors_;
  const SearchFn search_;
  const BuildFn build_;
  const ForClassesFn for_classes_;
};

// Calls visit(e-node) for each of the e-nodes until it returns false.
template <typename Visit>
void VisitUntilFalse(std::span<const ENodeId> enodes, const Visit& visit) {
  for (const ENodeId enode : enodes) {
    if (!visit(enode)) return;
  }
}

// The first operands of e-nodes that all have one.
std::set<ClassId> FirstOperands(const View& view, std::span<const ENodeId> enodes);
// The live e-nodes of a kind that have this class as their first operand, in order of creation.
std::vector<ENodeId> ReadersOfFirst(const View& view, ClassId cls, egraph::KindId kind);

// Calls visit(enode) once for each live e-node that has this class as a child and has one or two
// children, until it returns false. Linear in the uses of the class. EGraph::parents() is slower if
// e-nodes with many children use the class, because for each use it compares all earlier children.
void ForEachNarrowParent(const View& view, ClassId cls, const std::function<bool(ENodeId)>& visit);

}  // namespace quotient::rules
