#pragma once

// The ONNX project's test cases of single operators: tests/data/ops/node_cases.txt, whose format
// tests/data/ops/make_cases.py tells.

#include <string>
#include <vector>

#include "core/model/graph.h"

namespace quotient::testing {

struct NodeCase {
  std::string name;
  std::string op;
  model::Graph graph;                  // one node; inputs x0, x1, ... of static types
  std::vector<model::Tensor> inputs;   // parallel to graph.inputs
  std::vector<model::Tensor> outputs;  // expected; parallel to graph.outputs
};

// All cases, in the order of the file; read once. Ends the program if the file is not what it
// should be.
const std::vector<NodeCase>& AllNodeCases();

// Which inputs of a case StaticGraph makes constants.
enum class Constants {
  kWhereNeeded,  // None, or all but the first if the result's type hangs on their values.
  kAllButFirst,  // As models have weights and parameters.
};
// The case's graph with inferred types. Ends the program if they contradict each other.
model::Graph StaticGraph(const NodeCase& node_case, Constants constants = Constants::kWhereNeeded);

// Whether `actual` is close enough to be called the same result: equal for integers, within a few
// roundings of the type for floats.
bool CloseEnough(const model::Tensor& actual, const model::Tensor& expected);

}  // namespace quotient::testing
