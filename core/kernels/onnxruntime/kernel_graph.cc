#include "core/kernels/onnxruntime/kernel_graph.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/fusion.h"
#include "core/kernels/onnxruntime/random_floats.h"
#include "core/kernels/random_operand.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"

namespace quotient::kernels::onnxruntime {
namespace {

using model::ValueId;

model::Tensor Filled(const model::TensorType& type, double value) {
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &bytes);
  const std::vector<double> values(static_cast<size_t>(tensor.elements()), value);
  model::Store(type.dtype, bytes, 0, std::span<const double>(values));
  return tensor;
}

class Builder {
 public:
  explicit Builder(const KernelSpec& spec) : spec_(spec), operands_(AllOperands(spec)) {}

  absl::StatusOr<KernelGraph> Build() && {
    model::Graph& graph = built_.graph;
    const std::vector<ValueId> results = AddMain();
    ValueId running = results[0];
    for (const Epilogue& epilogue : spec_.epilogue) {
      std::vector<ValueId> inputs = AddOperands(epilogue.operands.size(), epilogue.attributes);
      inputs.insert(inputs.begin() + (epilogue.running_is_second ? 1 : 0), running);
      running =
          graph.AddOp(epilogue.op, std::move(inputs), Attributes(epilogue.attributes), NewName());
    }
    graph.outputs.push_back(running);
    for (size_t i = 1; i < results.size(); ++i) {
      if (results[i].valid()) graph.outputs.push_back(results[i]);
    }
    QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
    return std::move(built_);
  }

 private:
  // Removes the attributes that describe an operand and are no attributes of the operator.
  static model::AttributeMap Attributes(model::AttributeMap attributes) {
    attributes.Erase(kExponentAttribute);
    return attributes;
  }

  std::vector<ValueId> AddMain() {
    model::Node node;
    node.op = spec_.op;
    node.attributes = Attributes(spec_.attributes);
    node.inputs = AddOperands(spec_.inputs.size(), spec_.attributes);
    for (const Operand& output : spec_.outputs) {
      const bool left_out = output.type.dtype == model::DType::kUndefined;
      node.outputs.push_back(left_out ? ValueId() : built_.graph.AddValue(NewName(), {}));
    }
    std::vector<ValueId> outputs = node.outputs;
    built_.graph.AddNode(std::move(node));
    return outputs;
  }

  std::string NewName() const { return absl::StrCat("value", built_.graph.values.size()); }

  // Adds the next operands of the spec, which a node with these attributes reads.
  std::vector<ValueId> AddOperands(size_t count, const model::AttributeMap& attributes) {
    std::vector<ValueId> added;
    for (size_t i = 0; i < count; ++i) added.push_back(AddOperand(attributes));
    return added;
  }

  ValueId AddOperand(const model::AttributeMap& attributes) {
    const size_t index = next_operand_++;
    const Operand& operand = operands_[index];
    if (operand.type.dtype == model::DType::kUndefined) return ValueId();
    model::Tensor tensor = operand.constant && model::IsFloat(operand.type.dtype)
                               ? RandomFloats(operand.type, kMostWeight, 0, rng_)
                               : RandomOperand(spec_, index, rng_);
    if (!operand.constant) {
      built_.inputs.push_back(std::move(tensor));
      return built_.graph.AddInput(NewName(), operand.type);
    }
    if (attributes.Has(kExponentAttribute)) {
      tensor = Filled(operand.type, attributes.GetFloat(kExponentAttribute, 1));
    }
    built_.constant_bytes += static_cast<int64_t>(tensor.bytes().size());
    return built_.graph.AddConstant(NewName(), std::move(tensor));
  }

  const KernelSpec& spec_;
  const std::vector<Operand> operands_;
  size_t next_operand_ = 0;
  Rng rng_{1};
  KernelGraph built_;
};

}  // namespace

absl::StatusOr<KernelGraph> GraphOfKernel(const KernelSpec& spec) {
  if (ops::FindOp(spec.op) == nullptr) {
    return absl::UnimplementedError(absl::StrCat("'", spec.op, "' is no operator"));
  }
  return Builder(spec).Build();
}

}  // namespace quotient::kernels::onnxruntime
