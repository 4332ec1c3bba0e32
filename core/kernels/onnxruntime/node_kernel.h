#pragma once

// A node of a graph as ONNX Runtime has optimized it, as a kernel. Such a kernel runs as it is: no
// optimization comes before it. Its spec says what the node is and, beside the types of the
// operands, what of their contents its time depends on.

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/onnx/runtime_graph.h"

namespace quotient::kernels::onnxruntime {

// What is known of the values of a graph, by name.
using Summaries = absl::flat_hash_map<std::string, OutputSummary>;

// The spec of a node of this graph. UNIMPLEMENTED if it cannot stand alone: it has subgraphs, or
// values that are no tensors of numbers.
absl::StatusOr<KernelSpec> SpecOfNode(const onnx::RuntimeNode& node,
                                      const onnx::RuntimeGraph& graph, const Summaries& values);

// A change of layout (kReorderOp) as the node that does it: into ONNX Runtime's blocked layout
// where the spec makes channels the last ones in memory, and out of it where it made them so.
// UNIMPLEMENTED for values that ONNX Runtime does not bring into blocks.
absl::StatusOr<KernelSpec> SpecOfReorder(const KernelSpec& reorder);

// Whether a spec is of that kind. Other specs never are.
bool IsNodeSpec(const KernelSpec& spec);

// A model of such a node alone.
struct NodeModel {
  std::string bytes;
  // The constants that are not in the bytes, by the locations that it has for them.
  std::map<std::string, model::Tensor> weights;
  // Its inputs, with random contents as the spec says.
  std::vector<NamedTensor> inputs;
  std::vector<size_t> operands;  // Parallel to inputs: the positions in spec.inputs.
  int64_t constant_bytes = 0;
};
NodeModel ModelOfNode(const KernelSpec& spec);

}  // namespace quotient::kernels::onnxruntime
