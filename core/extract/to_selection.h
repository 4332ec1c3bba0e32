#pragma once

#include <span>

#include "core/extract/extract.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// As a Selection, with its cost: what the roots need of a choice for each class, which must be
// acyclic. `instance` is of the problem, whole or a part. Where the producer of a fusion is also
// chosen for its own sake, what is said about fusions in fusions.h holds.
Selection ToSelection(const Problem& problem, const Instance& instance,
                      std::span<const Node> choice);

}  // namespace quotient::extract
