#pragma once

// KernelSpec: everything that decides how long a kernel takes, and nothing else: no names, and no
// values but those that fusion.h and attention.h name. KernelKey is its canonical text.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/storage.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::kernels {

// What the memory order of a 4-D (or 3-D, 5-D) activation is when the kernel runs.
enum class Layout : uint8_t { kPlain, kChannelsLast };

struct Operand {
  model::TensorType type;  // static
  bool constant = false;   // packed in advance, cold when the kernel runs
  Layout layout = Layout::kPlain;
  friend bool operator==(const Operand&, const Operand&) = default;
};

// An element-wise node fused behind the main operator. Its running value is its first input;
// `operands` are the others.
struct Epilogue {
  std::string op;
  model::AttributeMap attributes;
  std::vector<Operand> operands;
  bool running_is_second = false;  // Sub, Div, Pow with the running value on the right
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

// The operator of kernels that only change a value's layout; no node of the graph.
inline constexpr char kReorderOp[] = "Reorder";

struct KernelSpec {
  std::string op;  // main operator, in canonical form; kReorderOp; kAttentionOp
  model::AttributeMap attributes;
  std::vector<Operand> inputs;   // left-out optional inputs have dtype kUndefined
  std::vector<Operand> outputs;  // left-out ones too
  std::vector<Epilogue> epilogue;
  int threads = 1;
  Storage storage = Storage::kWide;
  // log2 of the bytes of all constants of the model, rounded down, at most 28 (256 MiB): how cold
  // constant operands are. 0 for kernels without constants.
  int constant_footprint_log2 = 0;
  // The memory plan makes this kernel disappear: it is never run and costs nothing.
  bool free = false;

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

// The canonical text of a spec: equal specs, equal keys, and conversely.
std::string KernelKey(const KernelSpec& spec);

// All values a kernel reads: spec.inputs, then the operands of each epilogue.
std::vector<Operand> AllOperands(const KernelSpec& spec);

// The footprint class of a model with that many bytes of constants.
int FootprintLog2(int64_t constant_bytes);

// The spec of one operator by itself, in the layouts it would run in: what a search asks for where
// there is no graph yet: element-wise ones and their like in that of their inputs. All types
// static; left-out inputs have dtype kUndefined.
KernelSpec MakeSpec(absl::string_view op, const model::AttributeMap& attributes,
                    std::vector<Operand> inputs, std::vector<model::TensorType> outputs,
                    int threads, int constant_footprint_log2, Storage storage = Storage::kWide);

// Nodes that run as one kernel, the main node (of attention the Softmax) first. None at all: a
// value changes its layout (kReorderOp).
struct KernelGroup {
  std::vector<model::NodeId> nodes;
  KernelSpec spec;
  std::vector<model::ValueId> operands;  // parallel to AllOperands(spec); invalid where left out
  std::vector<model::ValueId> results;   // parallel to spec.outputs; invalid where left out
};

}  // namespace quotient::kernels
