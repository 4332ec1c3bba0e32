// The kernel of last resort: the operator's reference evaluation on tensors made from the buffers.

#include <cstring>

#include "core/base/status_macros.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/fusion.h"
#include "core/kernels/storage.h"
#include "core/ops/op.h"

namespace quotient::kernels::cpu {
namespace {

// A node of the kernel: the main one, or one of the epilogue, which also reads the running value.
struct ReferenceNode {
  model::Node node;
  int running = -1;  // Position of the running value; -1 for the main node.
};

class ReferenceKernel : public PlainKernel {
 public:
  explicit ReferenceKernel(const KernelSpec& spec) : PlainKernel(spec) {
    AddNode(spec.op, spec.attributes, spec.inputs, 0, -1);
    size_t next = spec.inputs.size();
    for (const Epilogue& epilogue : spec.epilogue) {
      AddNode(epilogue.op, epilogue.attributes, epilogue.operands, next,
              epilogue.running_is_second ? 1 : 0);
      next += epilogue.operands.size();
    }
    for (uint32_t i = 0; i < spec.outputs.size(); ++i) {
      const bool left_out = spec.outputs[i].type.dtype == model::DType::kUndefined;
      nodes_[0].node.outputs.push_back(left_out ? model::ValueId() : model::ValueId(i));
    }
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    std::vector<model::Tensor> values;
    for (const ReferenceNode& node : nodes_) {
      QUOTIENT_ASSIGN_OR_RETURN(values, Evaluate(node, values, buffers));
    }
    for (size_t i = 0; i < values.size() && i < spec_.outputs.size(); ++i) {
      if (buffers.outputs[i] == nullptr) continue;
      if (values[i].type() != spec_.outputs[i].type) {
        return absl::InternalError("the evaluation has another type than the specification");
      }
      PackTensor(values[i], spec_.outputs[i].layout, buffers.outputs[i]);
    }
    return absl::OkStatus();
  }

 private:
  void AddNode(absl::string_view op, const model::AttributeMap& attributes,
               const std::vector<Operand>& operands, size_t first, int running) {
    ReferenceNode& added = nodes_.emplace_back();
    added.node.op = std::string(op);
    added.node.attributes = attributes;
    added.node.attributes.Erase(kExponentAttribute);
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool left_out = operands[i].type.dtype == model::DType::kUndefined;
      added.node.inputs.push_back(left_out ? model::ValueId()
                                           : model::ValueId(static_cast<uint32_t>(first + i)));
    }
    if (running >= 0) {
      added.node.inputs.insert(added.node.inputs.begin() + running, model::ValueId(0));
      added.node.outputs.push_back(model::ValueId(0));
    }
    added.running = running;
  }

  absl::StatusOr<std::vector<model::Tensor>> Evaluate(const ReferenceNode& node,
                                                      const std::vector<model::Tensor>& before,
                                                      const KernelBuffers& buffers) const {
    std::vector<model::Tensor> tensors;
    tensors.reserve(node.node.inputs.size());
    std::vector<const model::Tensor*> inputs;
    for (size_t i = 0; i < node.node.inputs.size(); ++i) {
      const model::ValueId id = node.node.inputs[i];
      if (static_cast<int>(i) == node.running) {
        inputs.push_back(&before[0]);
      } else if (!id.valid()) {
        inputs.push_back(nullptr);
      } else {
        tensors.push_back(UnpackTensor(operands_[id.value()], Data(buffers, id.value())));
        inputs.push_back(&tensors.back());
      }
    }
    return ops::EvaluateNode(node.node, inputs, spec_.threads);
  }

  std::vector<ReferenceNode> nodes_;
};

}  // namespace

std::unique_ptr<Kernel> MakeReferenceKernel(const KernelSpec& spec) {
  if (ops::FindOp(spec.op) == nullptr) return nullptr;
  for (const Operand& operand : AllOperands(spec)) {
    const model::DType dtype = operand.type.dtype;
    if (dtype != model::DType::kUndefined && !model::IsComputable(dtype)) return nullptr;
  }
  return std::make_unique<ReferenceKernel>(spec);
}

}  // namespace quotient::kernels::cpu
