#include "core/egraph/proof_forest.h"

#include <algorithm>
#include <utility>

namespace quotient::egraph {

void ProofForest::TakeInTerms() {
  for (uint32_t i = static_cast<uint32_t>(parent_.size()); i < terms_.size(); ++i) {
    const TermId id(i);
    parent_.push_back(id);
    size_.push_back(1);
    uses_.emplace_back();
    proof_parent_.emplace_back();
    proof_edge_.push_back(0);
    for (TermId child : terms_.children(id)) {
      std::vector<TermId>& uses = uses_[Find(child).value()];
      if (uses.empty() || uses.back() != id) uses.push_back(id);
    }
    MakeCongruent(id);
  }
}

TermId ProofForest::Find(TermId id) const {
  while (parent_[id.value()] != id) id = parent_[id.value()];
  return id;
}

std::vector<uint32_t> ProofForest::KeyOf(TermId id) {
  operands_looked_at_ += static_cast<int64_t>(terms_.children(id).size());
  std::vector<uint32_t> key = {terms_.op(id).value()};
  for (TermId child : terms_.children(id)) key.push_back(Find(child).value());
  return key;
}

// Unites the term with a congruent one, if there is any.
void ProofForest::MakeCongruent(TermId id) {
  const auto [at, fresh] = congruence_.try_emplace(KeyOf(id), id);
  if (!fresh && !Equal(id, at->second)) Unite(at->second, id, kCongruence);
}

void ProofForest::Unite(TermId left, TermId right, Origin origin) {
  // A nested call only queues the equality.
  waiting_.push_back({left, right, origin});
  if (waiting_.size() > 1) return;
  std::vector<TermId> users;
  for (size_t next = 0; next < waiting_.size();) {
    for (; next < waiting_.size(); ++next) Link(Edge(waiting_[next]), &users);
    // All waiting equalities hold now, so a term is looked at once, however many of its operands
    // have become equal to something.
    std::ranges::sort(users);
    users.erase(std::unique(users.begin(), users.end()), users.end());
    for (const TermId user : users) MakeCongruent(user);
    users.clear();
  }
  waiting_.clear();
}

void ProofForest::Link(const Edge& edge, std::vector<TermId>* users) {
  TermId kept = Find(edge.left), absorbed = Find(edge.right);
  if (kept == absorbed) return;
  TermId below = edge.right, above = edge.left;
  if (size_[kept.value()] < size_[absorbed.value()]) {
    std::swap(kept, absorbed);
    std::swap(below, above);
  }
  TurnRootTo(below);
  proof_parent_[below.value()] = above;
  proof_edge_[below.value()] = static_cast<uint32_t>(edges_.size());
  edges_.push_back(edge);

  parent_[absorbed.value()] = kept;
  size_[kept.value()] += size_[absorbed.value()];
  const std::vector<TermId> moved = std::exchange(uses_[absorbed.value()], {});
  users->insert(users->end(), moved.begin(), moved.end());
  std::vector<TermId>& all = uses_[kept.value()];
  all.insert(all.end(), moved.begin(), moved.end());
}

void ProofForest::TurnRootTo(TermId id) {
  TermId above;  // The new parent of `id`.
  uint32_t edge = 0;
  while (id.valid()) {
    const TermId next = std::exchange(proof_parent_[id.value()], above);
    edge = std::exchange(proof_edge_[id.value()], edge);
    above = std::exchange(id, next);
  }
}

std::vector<TermId> ProofForest::WayUp(TermId id) const {
  std::vector<TermId> way;
  for (; id.valid(); id = proof_parent_[id.value()]) way.push_back(id);
  return way;
}

std::vector<ProofForest::Step> ProofForest::Path(TermId from, TermId to) const {
  std::vector<TermId> up = WayUp(from), down = WayUp(to);
  // Removes the common part of both paths, except the term where they meet.
  TermId meeting;
  while (!up.empty() && !down.empty() && up.back() == down.back()) {
    meeting = up.back();
    up.pop_back();
    down.pop_back();
  }
  std::vector<TermId> way = std::move(up);
  way.push_back(meeting);
  way.insert(way.end(), down.rbegin(), down.rend());
  std::vector<Step> steps;
  for (size_t i = 0; i + 1 < way.size(); ++i) {
    const bool upwards = proof_parent_[way[i].value()] == way[i + 1];
    const uint32_t edge = proof_edge_[(upwards ? way[i] : way[i + 1]).value()];
    steps.push_back({way[i], way[i + 1], edges_[edge].origin, edges_[edge].left == way[i], edge});
  }
  return steps;
}

}  // namespace quotient::egraph
