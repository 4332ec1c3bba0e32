#pragma once

#include <span>

#include "core/extract/extract.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// Converts a choice for each class, which must be acyclic, to a Selection with its cost, which
// contains what the roots need. `instance` is the instance of the problem, or a part of it. If the
// producer of a fusion is also used elsewhere, it is not fused (see fusions.h).
Selection ToSelection(const Problem& problem, const Instance& instance,
                      std::span<const Node> choice);

}  // namespace quotient::extract
