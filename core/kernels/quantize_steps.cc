#include "core/kernels/quantize_steps.h"

#include <cstdint>
#include <vector>

namespace quotient::kernels {

bool HasZeroPoint(const KernelSpec& spec) {
  return spec.inputs.size() > 2 && spec.inputs[2].type.dtype != model::DType::kUndefined;
}

Operand BroadcastSteps(const KernelSpec& spec, size_t input) {
  Operand operand = spec.inputs[input];
  const int64_t steps = operand.type.elements();
  std::vector<int64_t> dims;
  if (steps != 1) {
    const int64_t axis = spec.attributes.GetInt("axis", 1);
    dims.resize(static_cast<size_t>(spec.outputs[0].type.rank() - axis), 1);
    dims[0] = steps;
  }
  operand.type = model::StaticType(operand.type.dtype, dims);
  return operand;
}

}  // namespace quotient::kernels
