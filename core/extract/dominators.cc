#include "core/extract/dominators.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace quotient::extract {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Vertices are identified by their position in a depth-first order.
class LengauerTarjan {
 public:
  LengauerTarjan(const egraph::GroupedList<uint32_t>& successors, uint32_t start) {
    Number(successors, start);
    const auto n = static_cast<uint32_t>(order_.size());
    predecessors_ = egraph::GroupedList<uint32_t>(n);
    ForEachEdge(successors, [&](uint32_t, uint32_t to) { predecessors_.Count(to); });
    predecessors_.Allocate();
    ForEachEdge(successors, [&](uint32_t from, uint32_t to) { predecessors_.Append(to, from); });
    forest_.assign(n, kNone);
    bucket_.assign(n, kNone);
    next_in_bucket_.assign(n, kNone);
    dominator_.assign(n, 0);
    for (uint32_t i = 0; i < n; ++i) semi_.push_back(i);
    least_ = semi_;
  }

  DominatorTree Run() {
    const auto n = static_cast<uint32_t>(order_.size());
    for (uint32_t w = n; w-- > 1;) {
      for (const uint32_t from : predecessors_[w]) {
        semi_[w] = std::min(semi_[w], semi_[LeastAbove(from)]);
      }
      next_in_bucket_[w] = std::exchange(bucket_[semi_[w]], w);
      forest_[w] = parent_[w];
      for (uint32_t v = std::exchange(bucket_[parent_[w]], kNone); v != kNone;
           v = next_in_bucket_[v]) {
        const uint32_t least = LeastAbove(v);
        dominator_[v] = semi_[least] < semi_[v] ? least : parent_[w];
      }
    }
    for (uint32_t w = 1; w < n; ++w) {
      if (dominator_[w] != semi_[w]) dominator_[w] = dominator_[dominator_[w]];
    }
    return {std::move(order_), std::move(dominator_)};
  }

 private:
  // Depth-first, with an explicit stack: graphs can be deep.
  void Number(const egraph::GroupedList<uint32_t>& successors, uint32_t start) {
    struct Frame {
      uint32_t vertex;
      size_t next;
    };
    std::vector<Frame> stack;
    const auto enter = [&](uint32_t vertex, uint32_t parent) {
      if (vertex >= number_.size()) number_.resize(vertex + 1, kNone);
      if (number_[vertex] != kNone) return;
      number_[vertex] = static_cast<uint32_t>(order_.size());
      order_.push_back(vertex);
      parent_.push_back(parent);
      stack.push_back({vertex, 0});
    };
    enter(start, 0);
    while (!stack.empty()) {
      const uint32_t vertex = stack.back().vertex;
      const std::span<const uint32_t> to = successors[vertex];
      if (stack.back().next == to.size()) {
        stack.pop_back();
      } else {
        enter(to[stack.back().next++], number_[vertex]);
      }
    }
  }

  template <typename Visit>
  void ForEachEdge(const egraph::GroupedList<uint32_t>& successors, const Visit& visit) const {
    for (uint32_t i = 0; i < order_.size(); ++i) {
      for (const uint32_t to : successors[order_[i]]) visit(i, number_[to]);
    }
  }

  // The vertex of least semidominator on the path from `vertex` up to, and excluding, the root of
  // its tree in the forest. Compresses the path.
  uint32_t LeastAbove(uint32_t vertex) {
    if (forest_[vertex] == kNone) return vertex;
    path_.clear();
    for (uint32_t v = vertex; forest_[forest_[v]] != kNone; v = forest_[v]) path_.push_back(v);
    for (size_t i = path_.size(); i-- > 0;) {
      const uint32_t v = path_[i];
      const uint32_t above = forest_[v];
      if (semi_[least_[above]] < semi_[least_[v]]) least_[v] = least_[above];
      forest_[v] = forest_[above];
    }
    return least_[vertex];
  }

  std::vector<uint32_t> number_;  // By vertex: its position.

  // --- Indexed by position
  std::vector<uint32_t> order_;
  std::vector<uint32_t> parent_;  // In the depth-first tree.
  egraph::GroupedList<uint32_t> predecessors_;
  std::vector<uint32_t> semi_;
  std::vector<uint32_t> forest_;  // The parent in the forest of linked vertices.
  std::vector<uint32_t> least_;
  // The first vertex with this semidominator; next_in_bucket_ has the others.
  std::vector<uint32_t> bucket_;
  std::vector<uint32_t> next_in_bucket_;
  std::vector<uint32_t> dominator_;
  std::vector<uint32_t> path_;
};

}  // namespace

DominatorTree Dominators(const egraph::GroupedList<uint32_t>& successors, uint32_t start) {
  return LengauerTarjan(successors, start).Run();
}

}  // namespace quotient::extract
