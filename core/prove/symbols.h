#pragma once

// Graphs whose sizes are open: some sizes of the inputs of a static graph become symbols, and sums
// and products of symbols, as in models that take batches and sequences of any length.

#include <optional>
#include <vector>

#include "core/base/rng.h"
#include "core/model/graph.h"

namespace quotient::prove {

struct SymbolicGraph {
  model::Graph graph;
  // The same graph with every symbol bound, in at least two ways: first to the sizes of the static
  // graph, then to others that type inference accepts: smaller and larger ones, 0 and 1, equal ones
  // for different symbols. Nodes and values have the same ids as in `graph`.
  std::vector<model::Graph> bound;
};

// Opens sizes of a graph with static types. Equal sizes mostly become one symbol. A size may also
// become the sum of two symbols, of inputs that are concatenated, or their product, of two axes
// that a Reshape joins. The targets of Reshape and Expand are computed from Shape, copy (0) or
// infer (-1), and some Slices count from the end. Nullopt if the operators accept no other sizes
// than those given.
std::optional<SymbolicGraph> WithSymbols(const model::Graph& graph, Rng& rng);

// The same for a graph that has symbols: other sizes alone.
std::optional<SymbolicGraph> InSeveralSizes(const model::Graph& graph, Rng& rng);

// Whether the types of all values are static.
bool IsStatic(const model::Graph& graph);

}  // namespace quotient::prove
