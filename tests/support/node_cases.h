#pragma once

// The ONNX project's test cases for single operators, read from tests/data/ops/node_cases.txt.
// tests/data/ops/make_cases.py describes the format of that file.

#include <string>
#include <vector>

#include "core/model/graph.h"

namespace quotient::testing {

struct NodeCase {
  std::string name;
  std::string op;
  model::Graph graph;                  // One node; inputs x0, x1, ... with static types.
  std::vector<model::Tensor> inputs;   // Parallel to graph.inputs.
  std::vector<model::Tensor> outputs;  // Expected outputs, parallel to graph.outputs.
};

// All cases, in the order of the file, which is read once. Ends the program if the file is missing
// or malformed.
const std::vector<NodeCase>& AllNodeCases();

// Whether `actual` is the expected result: equal for integers, within a few rounding errors of the
// type for floats.
bool CloseEnough(const model::Tensor& actual, const model::Tensor& expected);

}  // namespace quotient::testing
