#pragma once

// Strongly connected components of the classes, where a class has an edge to each child of each of
// its e-nodes. A choice can close cycles only within a component.

#include <cstdint>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// Returns component numbers, by Class. Children's components have the same or lower numbers. Linear
// time, no recursion.
std::vector<uint32_t> StrongComponents(const Instance& instance);

}  // namespace quotient::extract
