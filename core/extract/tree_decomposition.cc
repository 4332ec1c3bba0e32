#include "core/extract/tree_decomposition.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace quotient::extract {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

class Elimination {
 public:
  Elimination(uint32_t num_vertices, const egraph::GroupedList<uint32_t>& cliques,
              uint32_t max_width)
      : max_width_(max_width), neighbors_(num_vertices), version_(num_vertices, 0) {
    for (uint32_t i = 0; i < cliques.num_keys(); ++i) {
      for (const uint32_t a : cliques[i]) {
        for (const uint32_t b : cliques[i]) {
          if (a != b) neighbors_[a].push_back(b);
        }
      }
    }
    for (std::vector<uint32_t>& list : neighbors_) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    for (uint32_t i = 0; i < num_vertices; ++i) Offer(i);
  }

  // True if all vertices were eliminated.
  bool Run(const StopCondition& stop) {
    while (order_.size() < neighbors_.size()) {
      if (queue_.empty() || stop.ShouldStop()) return false;
      const auto [fill, degree, from_last, version] = queue_.top();
      queue_.pop();
      if (version == version_[kNone - from_last]) Eliminate(kNone - from_last);
    }
    return true;
  }

  const std::vector<uint32_t>& order() const { return order_; }
  // The neighbors that the vertex had when it was eliminated, sorted.
  const std::vector<uint32_t>& neighbors(uint32_t vertex) const { return neighbors_[vertex]; }

 private:
  // Fill, degree, the number of the vertex counted from the last, and the version of the offer.
  using Candidate = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;

  // Queues the vertex for elimination. With too many neighbors it waits until it has fewer.
  void Offer(uint32_t vertex) {
    ++version_[vertex];
    const auto degree = static_cast<uint32_t>(neighbors_[vertex].size());
    if (degree > max_width_) return;
    queue_.emplace(Fill(vertex), degree, kNone - vertex, version_[vertex]);
  }

  // Number of edges that are missing between its neighbors.
  uint32_t Fill(uint32_t vertex) const {
    const std::vector<uint32_t>& around = neighbors_[vertex];
    uint32_t missing = 0;
    for (size_t i = 0; i < around.size(); ++i) {
      const std::vector<uint32_t>& others = neighbors_[around[i]];
      auto at = others.begin();
      for (size_t j = i + 1; j < around.size(); ++j) {
        at = std::lower_bound(at, others.end(), around[j]);
        missing += at == others.end() || *at != around[j];
      }
    }
    return missing;
  }

  void Eliminate(uint32_t vertex) {
    order_.push_back(vertex);
    ++version_[vertex];
    const std::vector<uint32_t>& around = neighbors_[vertex];
    for (const uint32_t each : around) {
      merged_.clear();
      std::ranges::set_union(neighbors_[each], around, std::back_inserter(merged_));
      std::erase_if(merged_, [&](uint32_t other) { return other == each || other == vertex; });
      neighbors_[each].swap(merged_);
    }
    for (const uint32_t each : around) Offer(each);
  }

  const uint32_t max_width_;
  std::vector<std::vector<uint32_t>> neighbors_;
  std::vector<uint32_t> version_;  // By vertex: version of its last offer.
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> merged_;
};

}  // namespace

std::optional<TreeDecomposition> Decompose(uint32_t num_vertices,
                                           const egraph::GroupedList<uint32_t>& cliques,
                                           uint32_t max_width, const StopCondition& stop) {
  for (uint32_t i = 0; i < cliques.num_keys(); ++i) {
    if (cliques[i].size() > max_width + 1) return std::nullopt;
  }
  Elimination elimination(num_vertices, cliques, max_width);
  if (!elimination.Run(stop)) return std::nullopt;

  // By vertex: when it is eliminated, and the vertex of the bag above.
  const std::vector<uint32_t>& order = elimination.order();
  std::vector<uint32_t> time(num_vertices);
  for (uint32_t i = 0; i < num_vertices; ++i) time[order[i]] = i;
  std::vector<uint32_t> above(num_vertices, kNone);
  // Size of the subtree.
  std::vector<uint32_t> size(num_vertices, 1);
  TreeDecomposition tree;
  tree.num_children.resize(num_vertices, 0);
  std::vector<uint32_t> num_children(num_vertices, 0);
  for (const uint32_t vertex : order) {
    const std::vector<uint32_t>& around = elimination.neighbors(vertex);
    if (around.empty()) continue;
    above[vertex] = *std::ranges::min_element(around, {}, [&](uint32_t v) { return time[v]; });
    size[above[vertex]] += size[vertex];
    ++num_children[above[vertex]];
  }
  // Numbers bags in postorder, from the root down: each subtree takes the end of the range that its
  // parent has left.
  tree.bag_of.resize(num_vertices);
  std::vector<uint32_t> end(num_vertices);
  uint32_t free_end = num_vertices;
  for (uint32_t i = num_vertices; i-- > 0;) {
    const uint32_t vertex = order[i];
    uint32_t& left = above[vertex] == kNone ? free_end : end[above[vertex]];
    tree.bag_of[vertex] = left - 1;
    end[vertex] = left - 1;
    left -= size[vertex];
  }
  tree.vertex.resize(num_vertices);
  tree.first.resize(num_vertices);
  for (uint32_t i = 0; i < num_vertices; ++i) tree.vertex[tree.bag_of[i]] = i;
  for (uint32_t bag = 0; bag < num_vertices; ++bag) {
    const uint32_t vertex = tree.vertex[bag];
    tree.first[bag] = bag + 1 - size[vertex];
    tree.num_children[bag] = num_children[vertex];
    for (const uint32_t each : elimination.neighbors(vertex)) tree.neighbors.Push(each);
    tree.neighbors.EndKey();
  }
  return tree;
}

}  // namespace quotient::extract
