#pragma once

// Chooses one memory order per value so that few bytes have to be reordered.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// Operators that are tied (LayoutRole) join their activations into components; a component takes
// the layout for which fewer bytes of its values meet operators that want the other one. Values are
// told by numbers.
class LayoutPlanner {
 public:
  // Of an operand that is left out.
  static constexpr uint32_t kNone = 0xffffffffu;

  explicit LayoutPlanner(size_t num_values);
  // Before the operators that have it. Borrows the type.
  void AddValue(uint32_t value, const model::TensorType& type, bool constant);
  void AddOperator(absl::string_view op, std::span<const uint32_t> inputs,
                   std::span<const uint32_t> outputs);
  // kPlain where both are the same.
  std::vector<Layout> Choose();

 private:
  bool Chooses(uint32_t value) const { return value != kNone && type_[value] != nullptr; }
  void Want(uint32_t value, std::vector<bool>& wants);
  void Tie(std::span<const uint32_t> inputs, std::span<const uint32_t> outputs);
  uint32_t Find(uint32_t value);

  std::vector<const model::TensorType*> type_;  // null: nothing to choose
  std::vector<uint32_t> parent_;
  std::vector<bool> wants_last_;   // some operator reads or writes it channels last
  std::vector<bool> wants_plain_;  // ... plain
};

// The layout each value has by preference, by ValueId. `runs[i]`: node i is executed.
std::vector<Layout> PlanLayouts(const model::Graph& graph, const std::vector<bool>& runs);

}  // namespace quotient::kernels
