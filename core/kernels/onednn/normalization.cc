#include <functional>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/layout.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/onednn/primitive_kernel.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::onednn {
namespace {

using dnnl::memory;

bool TakesFloats(const KernelSpec& spec) {
  if (spec.outputs.size() != 1 || !spec.epilogue.empty() || spec.inputs.empty()) return false;
  for (const Operand& input : spec.inputs) {
    if (input.type.dtype != model::DType::kUndefined && !StoredAsFloat(input.type.dtype)) {
      return false;
    }
  }
  return !spec.inputs[0].constant && spec.inputs[0].type.rank() > 0 &&
         spec.inputs[0].type.elements() > 0;
}

int64_t AxisOf(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.GetInt("axis", -1);
  return axis < 0 ? axis + spec.inputs[0].type.rank() : axis;
}

int64_t Product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

KernelOrStatus MakeSoftmax(const KernelSpec& spec) {
  if ((spec.op != "Softmax" && spec.op != "LogSoftmax") || !TakesFloats(spec) ||
      spec.inputs.size() != 1 || spec.inputs[0].layout != spec.outputs[0].layout) {
    return nullptr;
  }
  // Along other axes the library runs its reference code. core/kernels/cpu/softmax.cc is for these.
  const AxisInMemory axis =
      FindAxis(spec.inputs[0].type.dims(), AxisOf(spec), spec.inputs[0].layout);
  if (axis.inner > 1) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(spec);
  const absl::Status status = Guard([&] {
    const memory::desc desc = Plain({axis.outer, axis.length});
    const dnnl::softmax_forward::primitive_desc softmax(
        Engine(), dnnl::prop_kind::forward_inference,
        spec.op == "Softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log,
        desc, desc, 1, Attributes());
    kernel->AddStage(
        dnnl::softmax_forward(softmax),
        {kernel->Read(DNNL_ARG_SRC, 0, desc, desc), PrimitiveKernel::Write(DNNL_ARG_DST, desc)},
        softmax.scratchpad_desc());
    return absl::OkStatus();
  });
  QUOTIENT_RETURN_IF_ERROR(status);
  return kernel;
}

KernelOrStatus MakeLayerNorm(const KernelSpec& spec) {
  if (spec.op != "LayerNormalization" || !TakesFloats(spec) || spec.inputs.size() < 2 ||
      spec.inputs.size() > 3) {
    return nullptr;
  }
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const int64_t axis = AxisOf(spec);
  const int64_t inner = Product(std::span(dims).subspan(axis));
  const int64_t outer = Product(std::span(dims).first(axis));
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].type.elements() != inner) return nullptr;  // Broadcast along the axes.
  }
  auto kernel = std::make_unique<PrimitiveKernel>(spec);
  const absl::Status status = Guard([&] {
    using Flags = dnnl::normalization_flags;
    const memory::desc desc = Plain({outer, inner});
    const memory::desc vector = Plain({inner});
    const bool bias = spec.inputs.size() == 3;
    const dnnl::layer_normalization_forward::primitive_desc norm(
        Engine(), dnnl::prop_kind::forward_inference, desc, desc,
        static_cast<float>(spec.attributes.GetFloat("epsilon", 1e-5)),
        bias ? Flags::use_scale | Flags::use_shift : Flags::use_scale, Attributes());
    std::vector<Argument> arguments{kernel->Read(DNNL_ARG_SRC, 0, desc, desc),
                                    kernel->Read(DNNL_ARG_SCALE, 1, vector, vector),
                                    PrimitiveKernel::Write(DNNL_ARG_DST, desc)};
    if (bias) arguments.push_back(kernel->Read(DNNL_ARG_SHIFT, 2, vector, vector));
    kernel->AddStage(dnnl::layer_normalization_forward(norm), std::move(arguments),
                     norm.scratchpad_desc());
    return absl::OkStatus();
  });
  QUOTIENT_RETURN_IF_ERROR(status);
  return kernel;
}

}  // namespace quotient::kernels::onednn
