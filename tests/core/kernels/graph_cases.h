#pragma once

// Graphs that between them use every operator and every place where layouts meet, with what is
// needed to compare a backend with the reference evaluator on them.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/kernels/backend.h"
#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::kernels {

struct GraphCase {
  std::string name;
  std::string body;  // of the text form, without "graph NAME { }"
  friend void PrintTo(const GraphCase& printed, std::ostream* out) { *out << printed.name; }
};

// From the file graphs.txt beside this one, which is built into the program.
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

// Compiles the graph and runs it on random inputs: expects every output as close to the
// reference's, and again of a second run, which what the first leaves behind must not disturb.
void ExpectReference(const Backend& backend, const model::Graph& graph, uint64_t seed);

}  // namespace quotient::kernels
