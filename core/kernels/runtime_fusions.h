#pragma once

// What a runtime makes of a graph that it optimizes by itself: which operators it fuses, and where
// it keeps values in a blocked layout of its own. It tells a search what a graph will cost there.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/fusion.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::kernels {

// An operator of which the kernel is asked for. All types are static.
struct OperatorCall {
  absl::string_view op;
  const model::AttributeMap& attributes;
  std::span<const Operand> inputs;
  const model::TensorType& output;  // The first one.
};

// The layout of an operator's activations.
enum class Blocking : uint8_t {
  kNever,
  kLikeInputs,  // Blocked if all its inputs are, leaving out constants; else plain.
  kFromPlain,   // The output is blocked, but input 0 is read as it is in plain layout.
  kAlways,      // Input 0 and the output are blocked.
};

// Thread-safe.
class RuntimeFusions {
 public:
  virtual ~RuntimeFusions() = default;
  // How snapshots of timings call it (FindRuntimeFusions).
  virtual absl::string_view name() const = 0;
  // Whether an element-wise node becomes part of the kernel that computes its running value, which
  // has the main operator `main_op`. `before` is the operator that computes the value: the main
  // one, or the last one that is fused behind it.
  virtual bool Fuses(absl::string_view main_op, absl::string_view before,
                     const ElementwiseNode& node) const = 0;
  virtual Blocking BlockingOf(const OperatorCall& call) const = 0;
};

// Whether the node runs in the epilogue of a kernel with main operator `main_op`. `before` is the
// operator that computes its running value: the main operator, or the last one behind it. The
// caller must know that nothing else reads that value. Without a runtime, FusesAsEpilogue decides.
bool RunsAsEpilogue(const RuntimeFusions* runtime, absl::string_view main_op,
                    absl::string_view before, const ElementwiseNode& node);

// How the nodes of a graph that run keep their activations: kLikeInputs is decided. By NodeId.
std::vector<Blocking> BlockingOfNodes(const model::Graph& graph, const std::vector<bool>& runs,
                                      const RuntimeFusions& fusions);

}  // namespace quotient::kernels
