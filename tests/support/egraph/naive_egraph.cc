#include "tests/support/egraph/naive_egraph.h"

#include <algorithm>
#include <utility>

namespace quotient::testing {

using egraph::RuleText;
using egraph::Term;

NaiveEGraph::ClassLabel NaiveEGraph::Add(const std::string& word,
                                         std::vector<ClassLabel> children) {
  for (ClassLabel& child : children) child = Find(child);
  for (const ENode& node : CanonicalNodes()) {
    if (node.word == word && node.children == children) return node.label;
  }
  const ClassLabel fresh = static_cast<ClassLabel>(current_.size());
  current_.push_back(fresh);
  nodes_.push_back({word, std::move(children), fresh});
  return fresh;
}

void NaiveEGraph::Union(ClassLabel a, ClassLabel b) {
  const ClassLabel from = Find(b);
  const ClassLabel to = Find(a);
  std::ranges::replace(current_, from, to);
}

void NaiveEGraph::Close() {
  for (bool changed = true; changed;) {
    changed = false;
    const std::set<ENode> nodes = CanonicalNodes();
    for (const ENode& a : nodes) {
      for (const ENode& b : nodes) {
        if (a.word != b.word || a.children != b.children || Find(a.label) == Find(b.label)) {
          continue;
        }
        Union(a.label, b.label);
        changed = true;
      }
    }
  }
}

std::set<NaiveEGraph::ENode> NaiveEGraph::CanonicalNodes() const {
  std::set<ENode> nodes;
  for (ENode node : nodes_) {
    for (ClassLabel& child : node.children) child = Find(child);
    node.label = Find(node.label);
    nodes.insert(std::move(node));
  }
  return nodes;
}

std::set<NaiveEGraph::ClassLabel> NaiveEGraph::Labels() const {
  return std::set<ClassLabel>(current_.begin(), current_.end());
}

size_t NaiveEGraph::num_classes() const { return Labels().size(); }

size_t NaiveEGraph::num_enodes() const { return CanonicalNodes().size(); }

void NaiveEGraph::Step(const std::vector<RuleText>& rules) {
  std::vector<Substitutions> found;
  for (const RuleText& rule : rules) found.push_back(MatchRule(rule));
  for (size_t i = 0; i < rules.size(); ++i) {
    for (const Substitution& match : found[i]) Apply(rules[i], match);
  }
  Close();
}

NaiveEGraph::Substitutions NaiveEGraph::MatchRule(const RuleText& rule) const {
  Substitutions matches = {Substitution()};
  for (const std::vector<Term>& root : rule.left) {
    Substitutions extended;
    for (const Substitution& match : matches) {
      for (ClassLabel label : Labels()) {
        Substitutions here = {match};
        for (const Term& term : root) {
          Substitutions next;
          for (const Substitution& each : here) next.merge(MatchTerm(term, label, each));
          here = std::move(next);
        }
        for (Substitution each : here) {
          each.roots.push_back(label);
          extended.insert(std::move(each));
        }
      }
    }
    matches = std::move(extended);
  }
  std::erase_if(matches, [&](const Substitution& match) { return !GuardsHold(rule, match); });
  return matches;
}

NaiveEGraph::Substitutions NaiveEGraph::MatchTerm(const Term& term, ClassLabel label,
                                                  const Substitution& so_far) const {
  if (term.sort == Term::Sort::kVariable) {
    Substitution match = so_far;
    if (match.classes.try_emplace(term.name, label).first->second != label) return {};
    return {match};
  }
  Substitutions matches;
  for (const ENode& node : CanonicalNodes()) {
    if (node.label == label) matches.merge(MatchNode(term, node, so_far));
  }
  return matches;
}

NaiveEGraph::Substitutions NaiveEGraph::MatchNode(const Term& term, const ENode& node,
                                                  const Substitution& so_far) const {
  if (term.sort == Term::Sort::kWord) {
    return node.word == term.name && node.children.empty() ? Substitutions{so_far}
                                                           : Substitutions();
  }
  if (node.word.substr(0, node.word.find('[')) != term.name) return {};
  if (term.brackets == Term::Brackets::kText &&
      node.word != term.name + "[" + term.attributes + "]") {
    return {};
  }
  Substitution start = so_far;
  if (term.brackets == Term::Brackets::kVariable &&
      start.words.try_emplace(term.attributes, node.word).first->second != node.word) {
    return {};
  }
  const bool rest = !term.children.empty() && term.children.back().repeated;
  const size_t fixed = term.children.size() - (rest ? 1 : 0);
  if (rest ? node.children.size() < fixed : node.children.size() != fixed) return {};
  if (rest) {
    start.lists[term.children.back().name] = {node.children.begin() + fixed, node.children.end()};
  }
  Substitutions matches = {start};
  for (size_t i = 0; i < fixed; ++i) {
    Substitutions next;
    for (const Substitution& match : matches) {
      next.merge(MatchTerm(term.children[i], node.children[i], match));
    }
    matches = std::move(next);
  }
  return matches;
}

bool NaiveEGraph::GuardsHold(const RuleText& rule, const Substitution& match) const {
  return std::ranges::all_of(rule.guards, [&](const egraph::GuardText& guard) {
    const bool distinct =
        match.classes.at(guard.arguments[0].name) != match.classes.at(guard.arguments[1].name);
    return distinct != guard.negated;
  });
}

NaiveEGraph::ClassLabel NaiveEGraph::Build(const Term& term, const Substitution& match,
                                           size_t element) {
  if (term.sort == Term::Sort::kVariable) {
    const auto list = match.lists.find(term.name);
    return list != match.lists.end() ? list->second[element] : match.classes.at(term.name);
  }
  std::vector<ClassLabel> children;
  for (const Term& child : term.children) {
    // Random rules have at most one list.
    const size_t times = child.repeated ? match.lists.begin()->second.size() : 1;
    for (size_t i = 0; i < times; ++i) {
      children.push_back(Build(child, match, child.repeated ? i : element));
    }
  }
  std::string word = term.name;
  if (term.brackets == Term::Brackets::kVariable) word = match.words.at(term.attributes);
  if (term.brackets == Term::Brackets::kText) word += "[" + term.attributes + "]";
  return Add(word, std::move(children));
}

void NaiveEGraph::Apply(const RuleText& rule, const Substitution& match) {
  std::vector<ClassLabel> rights;
  for (const Term& right : rule.right) rights.push_back(Build(right, match, 0));
  for (size_t i = 0; i < rights.size(); ++i) Union(match.roots[i], rights[i]);
}

}  // namespace quotient::testing
