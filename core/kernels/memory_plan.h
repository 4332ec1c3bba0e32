#pragma once

// Where the values of a graph lie while it runs: one arena, in which values that are never needed
// at the same time share space. Views lie inside what they view.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// One copy of a value: a value may exist in two layouts.
using Slot = std::pair<model::ValueId, Layout>;
Slot SlotOf(model::ValueId id, const Operand& operand);

struct Place {
  // Inside the arena, or inside the buffer of a graph input.
  bool in_arena = true;
  model::ValueId input;  // if not in the arena
  int64_t offset = 0;
};

struct MemoryPlan {
  std::map<Slot, Place> places;
  int64_t arena_bytes = 0;
};

// Whether a kernel may write its first output over that operand of AllOperands, if nobody needs it
// any more: element-wise kernels read every block of their dense operands before they write it.
bool MayOverwrite(const KernelSpec& spec, size_t operand);

// Values that no group writes are inputs: each has a buffer of its own. `kept` are read after the
// last kernel has run.
MemoryPlan PlanMemory(const std::vector<KernelGroup>& groups,
                      const std::vector<model::ValueId>& kept);

}  // namespace quotient::kernels
