#pragma once

// World: a small search problem in which everything is known.

#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/search/field_stream.h"
#include "core/search/priors.h"
#include "core/search/search_tree.h"

namespace quotient::search {

inline Action Rule(uint16_t rule) { return {Action::Kind::kRule, rule}; }

// A search problem whose states are sets of rules. Each rule can be applied once, and the order
// makes no difference. States cost what `cost` says, or 10.
class World {
 public:
  World(int num_rules, std::map<uint64_t, double> cost)
      : num_rules_(num_rules), cost_(std::move(cost)), priors_(num_rules, 0), tree_(&priors_) {
    tree_.Reset(StateOf(0), Opened(0));
  }

  double CostOf(uint64_t rules) const {
    const auto cost = cost_.find(rules);
    return cost == cost_.end() ? 10 : cost->second;
  }
  State StateOf(uint64_t rules) const {
    return {.cost = CostOf(rules),
            .bill = BillId(rules),
            .saturated = std::popcount(rules) == num_rules_};
  }
  SearchTree::Opened Opened(uint64_t rules) const {
    SearchTree::Opened opened = {.hash = rules + 1};
    for (uint16_t rule = 0; rule < num_rules_; ++rule) {
      if ((rules >> rule & 1) == 0) opened.actions.push_back(Rule(rule));
    }
    return opened;
  }
  static uint64_t RulesOf(const std::vector<Action>& path) {
    uint64_t rules = 0;
    for (const Action action : path) rules |= uint64_t{1} << action.rule;
    return rules;
  }
  // Runs a simulation. Returns false if nothing is left to try.
  bool Simulate() {
    SearchTree::Leaf leaf;
    if (!tree_.Select(&leaf)) return false;
    Observe(leaf);
    return true;
  }
  void Observe(SearchTree::Leaf leaf) {
    const uint64_t rules = RulesOf(leaf.path);
    SearchTree::Opened opened;
    if (leaf.priors.has_value()) {
      opened = Opened(rules);
      if (!tree_.Knows(opened.hash, leaf)) SearchTree::SelectTries(opened, leaf);
    }
    std::vector<State> states;
    for (const Action action : leaf.tries) {
      states.push_back(StateOf(rules | uint64_t{1} << action.rule));
    }
    num_tried_ += states.size();
    tree_.Observe(leaf, opened, states);
  }
  int64_t num_tried() const { return num_tried_; }
  // Whether the state has been opened.
  bool IsOpen(uint64_t rules) const {
    SearchTree::Leaf later;
    later.as_of = std::numeric_limits<int64_t>::max();
    return tree_.Knows(rules + 1, later);
  }
  // Computes all that depends on costs again.
  void Recompute() { Reprice(cost_); }
  // Replaces the costs of all states.
  void Reprice(std::map<uint64_t, double> cost) {
    cost_ = std::move(cost);
    tree_.Reprice([this](BillId bill) { return CostOf(bill.value()); });
  }
  double Expect(uint16_t rule) { return priors_.Expect(Rule(rule)); }

  SearchTree& tree() { return tree_; }
  // The serialized priors and tree, without unfinished leaves.
  std::string Written() const {
    FieldWriter stream;
    priors_.Write(stream);
    tree_.Write(stream);
    return stream.Take();
  }
  bool Read(const std::string& bytes) {
    FieldReader stream(bytes);
    priors_.Read(stream);
    tree_.Read(stream);
    return stream.done();
  }

 private:
  const int num_rules_;
  std::map<uint64_t, double> cost_;
  Priors priors_;
  SearchTree tree_;
  int64_t num_tried_ = 0;
};

}  // namespace quotient::search
