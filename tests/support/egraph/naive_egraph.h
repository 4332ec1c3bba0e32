#pragma once

// An e-graph that is obviously right and hopelessly slow: classes are labels, congruence is a loop
// over all pairs, a pattern is tried on every class. The oracle for core/egraph.

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
  // Closes under congruence.
  void Close();

  // The label of the class that was labelled so when it was made.
  ClassLabel Find(ClassLabel label) const { return current_[label]; }
  size_t num_classes() const;
  // Different e-nodes.
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
  std::vector<ClassLabel> current_;  // by the label that a class was made with
};

}  // namespace quotient::testing
