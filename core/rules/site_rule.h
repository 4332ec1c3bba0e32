#pragma once

// SiteRule: what the rules written by hand have in common. Such a rule looks at one place
// at a time, says which other classes take part, and builds its right sides from that alone.

#include <functional>
#include <string>
#include <vector>

#include "core/egraph/rule.h"
#include "core/rules/terms.h"

namespace quotient::rules {

// What a rule wants to do: both sides of an equation.
struct Equation {
  ClassId left;
  ClassId right;
};

// What a rule found, for itself to read back: classes, operator words and numbers (small, not
// negative). Classes may have been merged with others by then, the rest stays as it is.
struct SiteMatch {
  std::vector<ClassId> classes;
  std::vector<OpId> ops;
  std::vector<int64_t> numbers;
};

class SiteRule final : public egraph::Rule {
 public:
  using SearchFn = std::function<void(const View&, const std::function<bool(SiteMatch)>& emit)>;
  // Builds the right sides; an equation with an invalid side does not count.
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

// Calls visit(enode) for the live e-nodes of an operator, in order of creation, until it says
// false.
void ForEachNode(const View& view, TensorDomain* domain, absl::string_view op,
                 const std::function<bool(ENodeId)>& visit);

// Calls visit(enode) for the live e-nodes of one or two children that have this class as a child,
// each once, until it says false. Linear in the uses of the class; parents() is not where e-nodes
// of many children are among them, as it looks for each at all children before.
void ForEachNarrowParent(const View& view, ClassId cls, const std::function<bool(ENodeId)>& visit);

}  // namespace quotient::rules
