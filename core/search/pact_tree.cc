#include "core/search/pact_tree.h"

#include <algorithm>
#include <cmath>

namespace quotient::search {

void PactTree::Reset(const PactState& root, const std::vector<bool>& open) {
  nodes_.clear();
  AddNode(root, open);
}

PactTree::NodeId PactTree::AddNode(const PactState& state, const std::vector<bool>& open) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  Node& node = nodes_.emplace_back();
  node.state = state;
  node.children.resize(open.size());
  for (size_t rule = 0; rule < open.size(); ++rule) node.children[rule].saturated = !open[rule];
  return id;
}

double PactTree::Score(const Child& child, int64_t visits, double exploration) {
  const double mean = child.returns / static_cast<double>(child.completed);
  const double rarity =
      2 * std::log(static_cast<double>(visits)) / static_cast<double>(child.dispatched);
  return mean + exploration * std::sqrt(rarity);
}

// Picks a rule to try at the node; none if the simulation should descend further.
std::optional<uint16_t> PactTree::RuleToTry(const Node& node, bool is_root) {
  std::vector<uint16_t> untried;
  for (uint16_t rule = 0; rule < node.children.size(); ++rule) {
    const Child& child = node.children[rule];
    if (child.dispatched == 0 && !child.saturated) untried.push_back(rule);
  }
  if (untried.empty()) return std::nullopt;
  const bool may_go_on = !is_root && std::ranges::any_of(node.children, HasSuccessor);
  if (may_go_on && rng_.NextDouble() >= parameters_.expand_coin) return std::nullopt;
  return untried[rng_.Below(untried.size())];
}

std::optional<uint16_t> PactTree::BestRule(const Node& node, double exploration) const {
  std::optional<uint16_t> best;
  double best_score = 0;
  for (uint16_t rule = 0; rule < node.children.size(); ++rule) {
    if (!HasSuccessor(node.children[rule])) continue;
    const double score = Score(node.children[rule], node.visits, exploration);
    if (best.has_value() && score <= best_score) continue;
    best = rule;
    best_score = score;
  }
  return best;
}

PactTree::Descent PactTree::Select(Path* path) {
  *path = {};
  Descent end = Descent::kExpand;
  for (NodeId at(0); at.valid();) {
    const Node& node = nodes_[at.value()];
    std::optional<uint16_t> rule = RuleToTry(node, at == NodeId(0));
    if (!rule.has_value()) rule = BestRule(node, parameters_.exploration);
    if (!rule.has_value()) return Descent::kNothing;
    path->nodes.push_back(at);
    path->rules.push_back(*rule);
    const Child& child = node.children[*rule];
    at = child.node;
    if (child.done) {
      end = Descent::kDone;
      break;
    }
  }
  for (size_t i = 0; i < path->nodes.size(); ++i) {
    Node& node = nodes_[path->nodes[i].value()];
    ++node.visits;
    ++node.children[path->rules[i]].dispatched;
  }
  return end;
}

void PactTree::Expand(const Path& path, const PactState& state, double reward,
                      const std::vector<bool>& open) {
  const NodeId added = AddNode(state, open);
  Child& child = nodes_[path.nodes.back().value()].children[path.rules.back()];
  child.node = added;
  child.reward = reward;
  child.done = state.done;
  child.saturated = !state.changed;
}

void PactTree::Complete(const Path& path, double value) {
  for (size_t i = path.nodes.size(); i-- > 0;) {
    Child& child = nodes_[path.nodes[i].value()].children[path.rules[i]];
    value = child.reward + parameters_.gamma * value;
    ++child.completed;
    child.returns += value;
  }
}

}  // namespace quotient::search
