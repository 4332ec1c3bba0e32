#pragma once

// SearchTreePeer lets tests look at what a search tree knows of single states.

#include <cstdint>

#include "core/search/search_tree.h"

namespace quotient::search {

class SearchTreePeer {
 public:
  // The least cost among an open state, given by its hash, and the states that can be reached from
  // it.
  static double BestBelow(const SearchTree& tree, uint64_t hash) {
    return tree.nodes_[tree.node_of_state_.at(hash).value()].best;
  }
};

}  // namespace quotient::search
