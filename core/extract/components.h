#pragma once

// The strongly connected components of the classes, where a class has an edge to each child of each
// of its e-nodes. A choice can close cycles within a component only.

#include <cstdint>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// By Class; children's components have lower numbers or the same. Linear, no recursion.
std::vector<uint32_t> StrongComponents(const Instance& instance);

}  // namespace quotient::extract
