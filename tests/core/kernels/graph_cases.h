#pragma once

// Graphs that between them use every operator and every place where layouts meet, with what is
// needed to compare a backend with the reference evaluator on them.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

struct GraphCase {
  std::string name;
  std::string body;  // of the text form, without "graph NAME { }"
  friend void PrintTo(const GraphCase& printed, std::ostream* out) { *out << printed.name; }
};

// From the file graphs.txt beside this one.
std::vector<GraphCase> AllGraphCases();
GraphCase FindGraphCase(const std::string& name);

// Parsed, types inferred, parameters that are constant in canonical form. Fails the test otherwise.
model::Graph GraphOf(const GraphCase& test_case);

// Floats uniform in [-1, 1), integers in [0, 3), bools.
std::vector<model::Tensor> RandomInputs(const model::Graph& graph,
                                        const std::vector<model::ValueId>& values, uint64_t seed);

// Expects `actual` within 1e-4 of the largest value of `expected` (integers and bools: equal;
// 16-bit floats: within their rounding).
void ExpectClose(const model::Tensor& expected, const model::Tensor& actual,
                 const std::string& name);

// Expects every output as close to the reference's.
void ExpectReference(const model::Graph& graph, const std::vector<model::ValueId>& input_values,
                     const std::vector<model::Tensor>& inputs,
                     const std::vector<model::ValueId>& output_values,
                     const std::vector<model::Tensor>& outputs);

}  // namespace quotient::kernels
