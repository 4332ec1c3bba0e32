#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/layout.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/onednn/primitive_kernel.h"
#include "core/kernels/storage.h"
#include "core/ops/window.h"

namespace quotient::kernels::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

bool AllFloats(const KernelSpec& spec) {
  for (const Operand& operand : AllOperands(spec)) {
    if (operand.type.dtype != model::DType::kUndefined && !StoredAsFloat(operand.type.dtype)) {
      return false;
    }
  }
  return true;
}

// Conditions that both directions share.
bool IsOurs(const KernelSpec& spec, absl::string_view op) {
  if (spec.op != op || spec.inputs.size() < 2 || spec.outputs.size() != 1 || !AllFloats(spec)) {
    return false;
  }
  const int rank = spec.inputs[0].type.rank();
  return rank >= 3 && rank <= 5 && spec.inputs[1].type.elements() > 0 &&
         spec.inputs[0].type.elements() > 0 && spec.outputs[0].type.elements() > 0;
}

bool HasBias(const KernelSpec& spec) {
  return spec.inputs.size() > 2 && spec.inputs[2].type.dtype != model::DType::kUndefined;
}

// oneDNN counts the holes between taps.
model::Ints Holes(const model::Ints& dilations) {
  model::Ints holes = dilations;
  for (int64_t& hole : holes) --hole;
  return holes;
}

// [M, C/g, ...], or [g, M/g, C/g, ...] if there are groups.
std::vector<int64_t> ConvWeightDims(const KernelSpec& spec) {
  std::vector<int64_t> dims = spec.inputs[1].type.dims();
  const int64_t groups = spec.attributes.GetInt("group", 1);
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  return dims;
}

// ONNX's [C, M/g, ...] as oneDNN's [(g,) M/g, C/g, ...].
memory::desc TransposedWeights(const KernelSpec& spec) {
  const std::vector<int64_t> given = spec.inputs[1].type.dims();
  const std::vector<int64_t> strides = StridesOf(given, Layout::kPlain);
  const int64_t groups = spec.attributes.GetInt("group", 1);
  const int64_t inputs = given[0] / groups;
  std::vector<int64_t> dims{given[1], inputs};
  std::vector<int64_t> order{strides[1], strides[0]};
  dims.insert(dims.end(), given.begin() + 2, given.end());
  order.insert(order.end(), strides.begin() + 2, strides.end());
  if (groups > 1) {
    dims.insert(dims.begin(), groups);
    order.insert(order.begin(), inputs * strides[0]);
  }
  return Strided(dims, order);
}

// Builds the kernel from a primitive descriptor made by `describe`.
template <typename Primitive, typename Describe>
KernelOrStatus Build(const KernelSpec& spec, const memory::desc& weights,
                     const Describe& describe) {
  auto kernel = std::make_unique<PrimitiveKernel>(spec);
  const absl::Status status = Guard([&] {
    const memory::desc source = Activation(spec.inputs[0]);
    const memory::desc target = Activation(spec.outputs[0]);
    const memory::desc bias =
        HasBias(spec) ? Plain({spec.inputs[2].type.elements()}) : memory::desc();
    PostOps post_ops;
    QUOTIENT_RETURN_IF_ERROR(AppendEpilogue(*kernel, spec.outputs[0].type.dims(), post_ops));
    const auto desc =
        describe(source, AnyOrder(weights.get_dims()), bias, target, Attributes(post_ops.ops));
    // A constant activation is given in row-major order.
    const memory::desc given_source =
        spec.inputs[0].constant ? Plain(spec.inputs[0].type.dims()) : source;
    std::vector<Argument> arguments{kernel->Read(DNNL_ARG_SRC, 0, given_source, desc.src_desc()),
                                    kernel->Read(DNNL_ARG_WEIGHTS, 1, weights, desc.weights_desc()),
                                    PrimitiveKernel::Write(DNNL_ARG_DST, desc.dst_desc())};
    if (HasBias(spec)) arguments.push_back(kernel->Read(DNNL_ARG_BIAS, 2, bias, bias));
    arguments.insert(arguments.end(), post_ops.arguments.begin(), post_ops.arguments.end());
    kernel->AddStage(Primitive(desc), std::move(arguments), desc.scratchpad_desc());
    return absl::OkStatus();
  });
  QUOTIENT_RETURN_IF_ERROR(status);
  return kernel;
}

}  // namespace

KernelOrStatus MakeConv(const KernelSpec& spec) {
  if (!IsOurs(spec, "Conv")) return nullptr;
  const std::vector<int64_t> weight_dims = spec.inputs[1].type.dims();
  QUOTIENT_ASSIGN_OR_RETURN(const ops::Window window,
                            ops::ReadWindow(spec.attributes, ops::SpatialDims(weight_dims),
                                            ops::SpatialDims(*spec.inputs[0].type.shape)));
  return Build<dnnl::convolution_forward>(
      spec, Plain(ConvWeightDims(spec)),
      [&](const memory::desc& source, const memory::desc& weights, const memory::desc& bias,
          const memory::desc& target, const dnnl::primitive_attr& attributes) {
        return dnnl::convolution_forward::primitive_desc(
            Engine(), prop_kind::forward_inference, algorithm::convolution_direct, source, weights,
            bias, target, window.strides, Holes(window.dilations), window.pads_begin,
            window.pads_end, attributes);
      });
}

KernelOrStatus MakeConvTranspose(const KernelSpec& spec) {
  if (!IsOurs(spec, "ConvTranspose")) return nullptr;
  const std::vector<int64_t> weight_dims = spec.inputs[1].type.dims();
  const model::Ints kernel(weight_dims.begin() + 2, weight_dims.end());
  QUOTIENT_ASSIGN_OR_RETURN(ops::Window window, ops::ReadUnpaddedWindow(spec.attributes, kernel));
  QUOTIENT_ASSIGN_OR_RETURN(const model::Ints pads,
                            ops::ReadPerAxis(spec.attributes, "pads", 2 * kernel.size(), 0, 0));
  const ops::AutoPad auto_pad = ops::ReadAutoPad(spec.attributes).value_or(ops::AutoPad::kValid);
  if (auto_pad != ops::AutoPad::kNone || spec.attributes.Has("output_shape")) {
    return absl::UnimplementedError("ConvTranspose: padding is not resolved");
  }
  const std::vector<int64_t> in = spec.inputs[0].type.dims();
  const std::vector<int64_t> out = spec.outputs[0].type.dims();
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    // The pads at the end follow from the output's size, which accounts for output_padding.
    const int64_t full = (in[axis + 2] - 1) * window.strides[axis] + window.Extent(axis);
    window.pads_begin[axis] = pads[axis];
    window.pads_end[axis] = full - pads[axis] - out[axis + 2];
  }
  return Build<dnnl::deconvolution_forward>(
      spec, TransposedWeights(spec),
      [&](const memory::desc& source, const memory::desc& weights, const memory::desc& bias,
          const memory::desc& target, const dnnl::primitive_attr& attributes) {
        return dnnl::deconvolution_forward::primitive_desc(
            Engine(), prop_kind::forward_inference, algorithm::deconvolution_direct, source,
            weights, bias, target, window.strides, Holes(window.dilations), window.pads_begin,
            window.pads_end, attributes);
      });
}

}  // namespace quotient::kernels::onednn
