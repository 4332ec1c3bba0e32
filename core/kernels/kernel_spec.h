#pragma once

// KernelSpec: everything that determines how long a kernel takes, and nothing else. It has no
// names, and no values except those that fusion.h and attention.h need. KernelKey is its canonical
// text.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/storage.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::kernels {

// The memory order of a 3-D, 4-D or 5-D activation when the kernel runs.
enum class Layout : uint8_t { kPlain, kChannelsLast };

struct Operand {
  model::TensorType type;  // Static.
  bool constant = false;   // Packed in advance; not in the cache when the kernel runs.
  Layout layout = Layout::kPlain;
  friend bool operator==(const Operand&, const Operand&) = default;
};

// An element-wise node fused behind the main operator. The running value is one of its inputs;
// `operands` are the others.
struct Epilogue {
  std::string op;
  model::AttributeMap attributes;
  std::vector<Operand> operands;
  bool running_is_second = false;  // Sub, Div, Pow with the running value on the right.
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

// The operator of kernels that only change a value's layout. No node of a graph has it.
inline constexpr char kReorderOp[] = "Reorder";

struct KernelSpec {
  std::string op;  // Main operator in canonical form, kReorderOp, or kAttentionOp.
  model::AttributeMap attributes;
  std::vector<Operand> inputs;   // Inputs left out have dtype kUndefined.
  std::vector<Operand> outputs;  // So have outputs left out.
  std::vector<Epilogue> epilogue;
  int threads = 1;
  Storage storage = Storage::kWide;
  // log2 of the bytes of all constants of the model, rounded down, at most 28 (256 MiB); for nodes
  // of ONNX Runtime, of all that a run reads and writes. It determines how cold constant operands
  // are. 0 for kernels without constants.
  int constant_footprint_log2 = 0;
  // The memory plan removes this kernel: it never runs and costs nothing.
  bool free = false;

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

// The canonical text of a spec: two specs are equal exactly if their keys are.
std::string KernelKey(const KernelSpec& spec);

// All values that a kernel reads: spec.inputs, then the operands of each epilogue.
std::vector<Operand> AllOperands(const KernelSpec& spec);

// The footprint class of a model with that many bytes of constants.
int FootprintLog2(int64_t constant_bytes);

// The spec of a single operator in the layouts it would run in, for a search, which has no graph
// yet. Element-wise and similar operators take the layout of their inputs. All types must be
// static; inputs left out have dtype kUndefined.
KernelSpec MakeSpec(absl::string_view op, const model::AttributeMap& attributes,
                    std::vector<Operand> inputs, std::vector<model::TensorType> outputs,
                    int threads, int constant_footprint_log2, Storage storage = Storage::kWide);

// The spec of a kernel that brings a value from one layout into another one. For a runtime with a
// blocked layout of its own (runtime_fusions.h), kChannelsLast stands for that.
KernelSpec MakeReorder(const model::TensorType& type, Layout from, Layout to, int threads,
                       Storage storage);

// The nodes that run as one kernel, the main node first (the Softmax for attention). Without nodes,
// a kernel that changes a value's layout (kReorderOp).
struct KernelGroup {
  std::vector<model::NodeId> nodes;
  KernelSpec spec;
  std::vector<model::ValueId> operands;  // Parallel to AllOperands(spec); invalid if left out.
  std::vector<model::ValueId> results;   // Parallel to spec.outputs; invalid if left out.
  std::string label;                     // FileKernel::label, of a kernel of a file.
};

}  // namespace quotient::kernels
