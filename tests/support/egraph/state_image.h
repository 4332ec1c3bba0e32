#pragma once

// The whole state of an e-graph as words, to compare two states byte for byte.

#include <cstdint>
#include <vector>

#include "core/egraph/egraph.h"

namespace quotient::testing {

// Counts and arrays, without the analysis. The graph must be clean.
inline std::vector<uint32_t> ImageOf(const egraph::EGraph& graph) {
  const egraph::ChangeLog::Counts& changes = graph.changes().counts();
  std::vector<uint32_t> image = {static_cast<uint32_t>(graph.num_enodes()),
                                 static_cast<uint32_t>(graph.num_classes()),
                                 changes.epoch,
                                 changes.nodes,
                                 changes.changes,
                                 changes.complete_from};
  for (const egraph::TrailedWords* array : graph.trail().arrays()) {
    image.push_back(array->size);
    image.insert(image.end(), array->words, array->words + size_t{array->size} * array->stride);
  }
  return image;
}

}  // namespace quotient::testing
