// GPU kernels of QuantizeLinear and DequantizeLinear.

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/kernels/cuda/source_checks.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

// A scale and maybe a zero point, for the whole tensor or along a random axis.
void AddSteps(Rng& rng, DType scale, DType zero_point, KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.outputs[0].type.dims();
  std::vector<int64_t> steps;
  if (!dims.empty() && rng.Below(2) == 0) {
    const auto axis = static_cast<int64_t>(rng.Below(dims.size()));
    spec.attributes.Set("axis", axis);
    steps = {dims[static_cast<size_t>(axis)]};
  }
  spec.inputs.push_back({model::StaticType(scale, steps)});
  if (rng.Below(3) > 0) spec.inputs.push_back({model::StaticType(zero_point, steps)});
}

TEST(QuantizeTest, BothAgreeWithTheReferenceBitForBit) {
  Rng rng(1);
  std::vector<KernelSpec> specs;
  for (const DType integer :
       {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32}) {
    for (const DType floats : {DType::kFloat32, DType::kFloat32, DType::kFloat16}) {
      const std::vector<int64_t> dims = RandomDims(rng, static_cast<int>(rng.Below(5)));
      KernelSpec dequantize;
      dequantize.op = "DequantizeLinear";
      dequantize.inputs = {RandomOperand(rng, integer, dims)};
      dequantize.outputs = {RandomOperand(rng, floats, dims)};
      AddSteps(rng, floats, integer, dequantize);
      specs.push_back(dequantize);
      if (integer == DType::kInt32) continue;
      KernelSpec quantize;
      quantize.op = "QuantizeLinear";
      quantize.inputs = {RandomOperand(rng, floats, dims)};
      quantize.outputs = {RandomOperand(rng, integer, dims)};
      AddSteps(rng, floats, integer, quantize);
      // Without a zero point the result is uint8.
      if (quantize.inputs.size() < 3) quantize.outputs[0].type.dtype = DType::kUint8;
      specs.push_back(quantize);
    }
  }
  ExpectSourceKernelsAgree(specs, "quantize");
}

}  // namespace
}  // namespace quotient::kernels::cuda
