#pragma once

#include <vector>

#include "core/base/stop.h"
#include "core/extract/block_memory.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// A choice for each class that the roots may need, found by local search (improve.h) block by block
// from the bottom up. Blocks that are in the memory are not searched again, and the others are
// remembered, so the answer is the same for any memory.
std::vector<Node> ChooseBlockwise(const Instance& instance, BlockMemory& memory,
                                  const StopCondition& stop);

}  // namespace quotient::extract
