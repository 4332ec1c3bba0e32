#pragma once

// Chooses one memory order per value so that few bytes need reordering.

#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/kernels/layout.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// Operators with role kTied join their activations into components. A component takes the layout
// for which fewer bytes of its values are read or written by operators that want the other one.
// Values are identified by numbers.
class LayoutPlanner {
 public:
  // Stands for an operand that is left out.
  static constexpr uint32_t kNone = 0xffffffffu;

  explicit LayoutPlanner(size_t num_values);
  // Call before the operators that use the value. Borrows the type.
  void AddValue(uint32_t value, const model::TensorType& type, bool constant);
  // An operator with this role (RoleOf).
  void AddOperator(LayoutRole role, std::span<const uint32_t> inputs,
                   std::span<const uint32_t> outputs);
  // The layout of each value; kPlain where both are the same in memory.
  std::vector<Layout> Choose();

 private:
  bool Chooses(uint32_t value) const { return value != kNone && type_[value] != nullptr; }
  void Want(uint32_t value, std::vector<bool>& wants);
  void Tie(std::span<const uint32_t> inputs, std::span<const uint32_t> outputs);
  uint32_t Find(uint32_t value);

  std::vector<const model::TensorType*> type_;  // Null if there is no choice.
  std::vector<uint32_t> parent_;
  std::vector<bool> wants_last_;   // Some operator wants channels last.
  std::vector<bool> wants_plain_;  // Some operator wants the plain layout.
};

// The preferred layout of each value, by ValueId. Node i is executed if runs[i].
std::vector<Layout> PlanLayouts(const model::Graph& graph, const std::vector<bool>& runs);

}  // namespace quotient::kernels
