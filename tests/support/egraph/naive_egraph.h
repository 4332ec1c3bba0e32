#pragma once

// An e-graph that is obviously correct and very slow: classes are labels, congruence closure is a
// loop over all pairs, and patterns are tried on every class. It is the oracle for core/egraph.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/egraph/egraph.h"
#include "core/egraph/pattern_text.h"

namespace quotient::testing {

class NaiveEGraph {
 public:
  using ClassLabel = int;

  ClassLabel Add(const std::string& word, std::vector<ClassLabel> children);
  void Union(ClassLabel a, ClassLabel b);
  // Restores congruence closure.
  void Close();

  // The present label of the class that had this label when it was made.
  ClassLabel Find(ClassLabel label) const { return current_[label]; }
  size_t num_classes() const;
  // Number of different e-nodes.
  size_t num_enodes() const;

  // Finds the matches of all rules, then applies them all, then closes. Rules may have variables of
  // all sorts, several roots, repetitions and the guard `distinct`.
  void Step(const std::vector<egraph::RuleText>& rules);

 private:
  struct ENode {
    std::string word;
    std::vector<ClassLabel> children;
    ClassLabel label;
    auto operator<=>(const ENode&) const = default;
  };
  struct Substitution {
    std::vector<ClassLabel> roots;
    std::map<std::string, ClassLabel> classes;
    std::map<std::string, std::string> words;
    std::map<std::string, std::vector<ClassLabel>> lists;
    auto operator<=>(const Substitution&) const = default;
  };
  using Substitutions = std::set<Substitution>;

  std::set<ENode> CanonicalNodes() const;
  std::set<ClassLabel> Labels() const;
  Substitutions MatchRule(const egraph::RuleText& rule) const;
  Substitutions MatchTerm(const egraph::Term& term, ClassLabel label,
                          const Substitution& so_far) const;
  Substitutions MatchNode(const egraph::Term& term, const ENode& node,
                          const Substitution& so_far) const;
  bool GuardsHold(const egraph::RuleText& rule, const Substitution& match) const;
  ClassLabel Build(const egraph::Term& term, const Substitution& match, size_t element);
  void Apply(const egraph::RuleText& rule, const Substitution& match);

  std::vector<ENode> nodes_;
  std::vector<ClassLabel> current_;  // By the label that a class had when it was made.
};

}  // namespace quotient::testing
