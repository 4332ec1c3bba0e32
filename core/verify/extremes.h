#pragma once

// Finds the inputs of a graph that may hold NaN, the largest numbers of their type, and the limits
// of integer types. Rewrites preserve what becomes of these only where they pass through certain
// operators (core/rules/README.md): an operand of a MatMul that is NaN may turn neighbors into NaN,
// and a product of two large numbers may overflow in one order and not in another.

#include <vector>

#include "core/model/graph.h"

namespace quotient::verify {

// The finite floats that stand for the largest ones. It is no scale for other elements
// (LargestOrdinary), and so it must stay: neither smaller than that nor beyond the range of
// float32.
inline constexpr double kHuge = 1e31;

struct Extremes {
  // Whether a NaN becomes a NaN, element by element, until a comparison or IsNaN ends it.
  bool takes_nan = true;
  // For floats, whether kHuge stays about as large or becomes a bounded number, element by element.
  // For integers, whether only integers and booleans are computed from them, exactly and modulo the
  // range of the type.
  bool takes_largest = true;
  // By which factors a large float may become smaller and larger on the way to what is computed.
  double least_growth = 1;
  double most_growth = 1;
};

// By input of a static graph, in order. Linear in the size of the graph.
std::vector<Extremes> FindExtremes(const model::Graph& graph);

}  // namespace quotient::verify
