#pragma once

// Opens sizes of a static graph: makes the graph in which they are symbols.

#include <cstdint>
#include <map>
#include <string>

#include "core/base/rng.h"
#include "core/model/graph.h"

namespace quotient::prove {

// The numbers that symbols stand for.
using Sizes = std::map<std::string, int64_t>;

struct OpenedGraph {
  model::Graph graph;  // Only inputs and constants have types. The others are not inferred yet.
  Sizes given;  // The sizes of the static graph for all symbols; empty if no size was opened.
};

// Draws which sizes of a static graph are open and how operators get them. WithSymbols in symbols.h
// says what is made of the sizes.
OpenedGraph OpenSizes(const model::Graph& graph, Rng& rng);

}  // namespace quotient::prove
