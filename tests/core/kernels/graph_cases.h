#pragma once

// Graphs that together contain every operator and every place where layouts meet, and helpers to
// compare a backend with the reference evaluator on them.

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
  std::string body;  // Text form, without "graph NAME { }".
  friend void PrintTo(const GraphCase& printed, std::ostream* out) { *out << printed.name; }
};

// The cases in the file graphs.txt of this folder, which is built into the program.
std::vector<GraphCase> AllGraphCases();
GraphCase FindGraphCase(const std::string& name);

// Parses the graph, infers its types, and brings constant parameters into canonical form. Adds a
// test failure if that is impossible.
model::Graph GraphOf(const GraphCase& test_case);

// Random tensors for these values: floats uniform in [-1, 1), integers in [0, 3), bools.
std::vector<model::Tensor> RandomInputs(const model::Graph& graph,
                                        const std::vector<model::ValueId>& values, uint64_t seed);

// Expects that `actual` differs from `expected` by at most 1e-4 of its largest value. Integers and
// bools must be equal, and 16-bit floats agree up to rounding.
void ExpectClose(const model::Tensor& expected, const model::Tensor& actual,
                 const std::string& name);

// Compiles the graph, runs it twice on random inputs, and expects that all outputs of both runs are
// close to the reference's. The second run shows whether the first one left anything behind.
void ExpectReference(const Backend& backend, const model::Graph& graph, uint64_t seed);

}  // namespace quotient::kernels
