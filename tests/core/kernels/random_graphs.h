#pragma once

// Random graphs of every shape that partition, layout plan and memory plan have to cope with.

#include <cstdint>
#include <string>

namespace quotient::kernels {

// The text of a graph, as GraphOf takes it; seeds make different ones.
std::string RandomGraphText(uint64_t seed);

}  // namespace quotient::kernels
