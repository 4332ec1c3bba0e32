#pragma once

// SiteRule: a hand-written rule, given by two functions. One searches for sites, places where the
// rule applies, and reports which classes take part. The other builds the right sides from this
// report alone.

#include <functional>
#include <string>
#include <vector>

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

class SiteRule final : public egraph::Rule {
 public:
  using SearchFn = std::function<void(const View&, const std::function<bool(SiteMatch)>& emit)>;
  // Builds the right sides. Equations with an invalid side are ignored.
  using BuildFn = std::function<std::vector<Equation>(Terms&, const SiteMatch&)>;

  SiteRule(TensorDomain* domain, std::string name, std::string equation, SearchFn search,
           BuildFn build)
      : domain_(domain),
        name_(std::move(name)),
        equation_(std::move(equation)),
        search_(std::move(search)),
        build_(std::move(build)) {}

  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return equation_; }
  void Search(const EGraph& graph, egraph::MatchSink& sink) const override;
  absl::StatusOr<bool> Apply(EGraph& graph, const egraph::Match& match,
                             egraph::Origin origin) const override;

 private:
  TensorDomain* const domain_;
  const std::string name_;
  const std::string equation_;
  const SearchFn search_;
  const BuildFn build_;
};

// Calls visit(enode) for the live e-nodes of an operator, in order of creation, until it returns
// false.
void ForEachNode(const View& view, TensorDomain* domain, absl::string_view op,
                 const std::function<bool(ENodeId)>& visit);

// Calls visit(enode) once for each live e-node that has this class as a child and has one or two
// children, until it returns false. Linear in the uses of the class. EGraph::parents() is slower if
// e-nodes with many children use the class, because for each use it compares all earlier children.
void ForEachNarrowParent(const View& view, ClassId cls, const std::function<bool(ENodeId)>& visit);

}  // namespace quotient::rules
