#pragma once

// Assigns memory to the values of a running graph: one arena, in which values share space if they
// are never needed at the same time. A view lies inside the value that it views.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// One copy of a value. A value may exist in two layouts.
using Slot = std::pair<model::ValueId, Layout>;
Slot SlotOf(model::ValueId id, const Operand& operand);

struct Place {
  // Inside the arena if true, otherwise inside the buffer of graph input `input`.
  bool in_arena = true;
  model::ValueId input;  // If not in the arena.
  int64_t offset = 0;
};

struct MemoryPlan {
  std::map<Slot, Place> places;
  int64_t arena_bytes = 0;
};

// Whether a kernel may write its first output over this operand of AllOperands when nothing else
// needs it. Element-wise kernels may, because they read every block of their dense operands before
// they write it.
bool MayOverwrite(const KernelSpec& spec, size_t operand);

// Values that no group writes are inputs, each with a buffer of its own. Values in `kept` are read
// after the last kernel has run.
MemoryPlan PlanMemory(const std::vector<KernelGroup>& groups,
                      const std::vector<model::ValueId>& kept);

}  // namespace quotient::kernels
