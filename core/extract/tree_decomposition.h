#pragma once

// Tree decompositions by elimination: vertices are taken out of a graph one after the other, each
// time the one for which the fewest edges have to be added to make its neighbours a clique
// ("min-fill", as counted when a neighbour of it was taken out last), of equals one with few
// neighbours, and the one with the largest number. A bag is a vertex with the neighbours that it
// had then. The bag above it is that of the first of them to be taken out, which has all the
// others, too; so the bags with a vertex are connected, and each clique of the graph is inside of
// one.
//
// Reference: H. L. Bodlaender, A. M. C. A. Koster, "Treewidth computations I. Upper bounds",
// Information and Computation 208(3), 2010.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/egraph/grouped_list.h"

namespace quotient::extract {

// By bag, in an order in which what is below a bag comes right before it.
struct TreeDecomposition {
  size_t size() const { return vertex.size(); }
  // Is that bag the bag itself or below it?
  bool IsBelow(uint32_t bag, uint32_t other) const { return other >= first[bag] && other <= bag; }

  std::vector<uint32_t> vertex;             // that no bag above has
  egraph::GroupedList<uint32_t> neighbors;  // the others in it
  std::vector<uint32_t> num_children;       // bags directly below
  std::vector<uint32_t> first;              // the first of those below, or itself
  std::vector<uint32_t> bag_of;             // by vertex: the bag that it is `vertex` of
};

// Of the graph in which each of the cliques, of different vertices, is one. Nothing if a bag would
// have more than `max_width` neighbours, as far as this order goes, or if `stop` says so.
// Deterministic.
std::optional<TreeDecomposition> Decompose(uint32_t num_vertices,
                                           const egraph::GroupedList<uint32_t>& cliques,
                                           uint32_t max_width, const StopCondition& stop);

}  // namespace quotient::extract
