#pragma once

// Tree decompositions by elimination. Vertices are eliminated from a graph one after the other.
// Each time the vertex is chosen for which the fewest edges have to be added to make its neighbors
// a clique ("min-fill", as counted when a neighbor of it was last eliminated). Ties go to fewer
// neighbors, then to the larger number. A bag is a vertex with the neighbors that it had when it
// was eliminated. Its parent is the bag of the first of them to be eliminated, which contains all
// the others. So the bags that contain a vertex are connected, and each clique of the graph is
// inside of a bag.
//
// Reference: H. L. Bodlaender, A. M. C. A. Koster, "Treewidth computations I. Upper bounds",
// Information and Computation 208(3), 2010.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/egraph/grouped_list.h"

namespace quotient::extract {

// Indexed by bag, in postorder: what is below a bag comes directly before it.
struct TreeDecomposition {
  size_t size() const { return vertex.size(); }
  // Whether `other` is the bag itself or below it.
  bool IsBelow(uint32_t bag, uint32_t other) const { return other >= first[bag] && other <= bag; }

  std::vector<uint32_t> vertex;             // The vertex that no bag above contains.
  egraph::GroupedList<uint32_t> neighbors;  // The other vertices of the bag.
  std::vector<uint32_t> num_children;       // Number of bags directly below.
  std::vector<uint32_t> first;              // The first bag below, or the bag itself.
  std::vector<uint32_t> bag_of;             // By vertex: the bag that it is `vertex` of.
};

// Decomposes the graph that is the union of the cliques, each of distinct vertices. Nothing if this
// elimination order leads to a bag with more than `max_width` neighbors, or if `stop` fires.
// Deterministic.
std::optional<TreeDecomposition> Decompose(uint32_t num_vertices,
                                           const egraph::GroupedList<uint32_t>& cliques,
                                           uint32_t max_width, const StopCondition& stop);

}  // namespace quotient::extract
