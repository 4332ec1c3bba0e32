#pragma once

// Makes random graphs that exercise partitioning, layout planning and memory planning.

#include <cstdint>
#include <string>

namespace quotient::kernels {

// The text of a graph, for GraphOf. Different seeds give different graphs.
std::string RandomGraphText(uint64_t seed);

}  // namespace quotient::kernels
