#pragma once

#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// By Class: whether every selection contains the class and no cycle leads through it and another
// class. So it is paid for whatever else is chosen, and what is chosen for it can depend on nothing
// that uses it. Roots of that kind, and classes of the original problem (with an e-node that no
// rule made) unless they have an e-node that costs and needs nothing; other classes are not
// examined. Linear time for each 256 classes examined, on acyclic instances.
std::vector<bool> FindNeeded(const Instance& instance);

}  // namespace quotient::extract
