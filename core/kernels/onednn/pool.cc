#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/onednn/primitive_kernel.h"
#include "core/kernels/storage.h"
#include "core/ops/window.h"

namespace quotient::kernels::onednn {
namespace {

using dnnl::algorithm;

bool IsOurs(const KernelSpec& spec) {
  if (spec.op != "MaxPool" && spec.op != "AveragePool") return false;
  const int rank = spec.inputs.empty() ? 0 : spec.inputs[0].type.rank();
  return spec.outputs.size() == 1 && rank >= 3 && rank <= 5 && spec.epilogue.empty() &&
         StoredAsFloat(spec.inputs[0].type.dtype) && spec.outputs[0].type.elements() > 0 &&
         spec.inputs[0].layout == spec.outputs[0].layout && !spec.inputs[0].constant;
}

}  // namespace

KernelOrStatus MakePool(const KernelSpec& spec) {
  if (!IsOurs(spec)) return nullptr;
  const model::Ints* kernel_shape = spec.attributes.FindInts("kernel_shape");
  if (kernel_shape == nullptr) return nullptr;
  QUOTIENT_ASSIGN_OR_RETURN(ops::Window window,
                            ops::ReadWindow(spec.attributes, *kernel_shape,
                                            ops::SpatialDims(*spec.inputs[0].type.shape)));
  const std::vector<int64_t> in = spec.inputs[0].type.dims();
  const std::vector<int64_t> out = spec.outputs[0].type.dims();
  model::Ints holes = window.dilations;
  bool reaches_beyond = false;  // The last window ends past the declared padding.
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    --holes[axis];
    const int64_t end = (out[axis + 2] - 1) * window.strides[axis] + window.Extent(axis) -
                        in[axis + 2] - window.pads_begin[axis];
    reaches_beyond |= end > window.pads_end[axis];
    window.pads_end[axis] = end;
  }
  algorithm fn = algorithm::pooling_max;
  if (spec.op == "AveragePool") {
    const bool include = spec.attributes.GetInt("count_include_pad", 0) != 0;
    // ONNX never counts what ceil_mode adds beyond the padding.
    if (include && reaches_beyond) return nullptr;
    fn = include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  }
  auto kernel = std::make_unique<PrimitiveKernel>(spec);
  const absl::Status status = Guard([&] {
    const dnnl::pooling_forward::primitive_desc desc(
        Engine(), dnnl::prop_kind::forward_inference, fn, Activation(spec.inputs[0]),
        Activation(spec.outputs[0]), window.strides, window.kernel, holes, window.pads_begin,
        window.pads_end, Attributes());
    kernel->AddStage(dnnl::pooling_forward(desc),
                     {kernel->Read(DNNL_ARG_SRC, 0, desc.src_desc(), desc.src_desc()),
                      PrimitiveKernel::Write(DNNL_ARG_DST, desc.dst_desc())},
                     desc.scratchpad_desc());
    return absl::OkStatus();
  });
  QUOTIENT_RETURN_IF_ERROR(status);
  return kernel;
}

}  // namespace quotient::kernels::onednn
